//! Pages as XML has them: well-formed, with namespaces.

use crate::pages::{Random, WORDS, addressee, content};

const NS: &str = "http://www.w3.org/1999/xhtml";

/// Elements of a head, well-formed; `P` stands for the prefix.
const PIECES: &[&str] = &[
    "<Pscript/>",
    "<Pscript src='x'/>",
    "<Pscript>x</Pscript>",
    "<Pscript><![CDATA[ if (a<b) x ]]></Pscript>",
    "<Pscript>//<![CDATA[\nx = '</Pscript>';\n//]]></Pscript>",
    "<Pstyle/>",
    "<Pstyle>a { }</Pstyle>",
    "<Ptitle/>",
    "<Ptitle>t</Ptitle>",
    "<Ptitle><![CDATA[<t>]]></Ptitle>",
    "<Ptextarea/>",
    "<Piframe/>",
    "<Pnoframes/>",
    "<Pnoembed/>",
    "<Pxmp/>",
    "<Pplaintext/>",
    "<Pnoscript><Plink/></Pnoscript>",
    "<Pnoscript/>",
    "<Ptemplate/>",
    "<Ptemplate><Pp/></Ptemplate>",
    "<Pmeta name='x' content='y'/>",
    "<Pmeta name='robots' content='all'/>",
    "<Plink rel='x' href='y'/>",
    "<Pbase href='z'/>",
    "<Pobject/>",
    "<!-- c -->",
    "<!-- <Pscript> -->",
    "<!---->",
    "<?x y?>",
    "<?x > <Pscript> ?>",
    "<![CDATA[<Ptitle>]]>",
    "<![CDATA[]]>",
    "<svg xmlns='http://www.w3.org/2000/svg'><title>s</title></svg>",
    "<svg xmlns='http://www.w3.org/2000/svg'><script/><style/></svg>",
    "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "<math xmlns='http://www.w3.org/1998/Math/MathML'><mi/></math>",
    "<x:y xmlns:x='urn:x'><x:title/><x:meta name='robots' content='all'/></x:y>",
    "<y xmlns='urn:y'><script/></y>",
    "<y xmlns=''><z/></y>",
    "&#160;",
    "&amp;",
    "text",
    "\n ",
    "<Pa href='x>y'/>",
    "<Pp title=\"'\">it's</Pp>",
    "<Pp title='&lt;Pscript>'/>",
];

/// Around a directive: before and after it.
const AROUND: &[(&str, &str)] = &[
    ("", ""),
    ("", ""),
    ("<Pnoscript>", "</Pnoscript>"),
    ("<Pdiv>", "</Pdiv>"),
    ("<Pstyle>", "</Pstyle>"),
    ("<Pscript>", "</Pscript>"),
    ("<Ptitle>", "</Ptitle>"),
    ("<Ptextarea>", "</Ptextarea>"),
    ("<Pselect><Poption>", "</Poption></Pselect>"),
    ("<Ptable><Ptr><Ptd>", "</Ptd></Ptr></Ptable>"),
    ("<svg xmlns='http://www.w3.org/2000/svg'><metadata>", "</metadata></svg>"),
    ("<svg xmlns='http://www.w3.org/2000/svg'><desc>", "</desc></svg>"),
    ("<x xmlns='urn:x'>", "</x>"),
    ("<Ptemplate>", "</Ptemplate>"),
];

/// Returns the parts of a page.
pub(crate) fn parts(random: &mut Random, speaks: bool, label: Option<&'static str>) -> Vec<String> {
    let prefix = random.of(&["", "", "", "h:", "html:"]);
    let fits = |piece: &str| {
        // A capital P before a name in a tag, and nothing else in capitals, is the prefix.
        piece.replace("</P", &format!("</{prefix}")).replace("<P", &format!("<{prefix}"))
    };
    let declares =
        if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{}", &prefix[..prefix.len() - 1]) };
    let mut parts = Vec::new();
    if let Some(label) = label {
        parts.push(format!("<?xml version=\"1.0\" encoding=\"{label}\"?>"));
    } else if random.one_in(2) {
        parts.push("<?xml version='1.0'?>\n".to_owned());
    }
    let content = content(random, speaks);
    let has_entities = random.one_in(4);
    parts.push(if has_entities {
        format!("<!DOCTYPE {prefix}html [<!ENTITY said \"{content}\"> <!ENTITY who 'robots'>\n]>")
    } else {
        let public = "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" \"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd\">";
        random.of(&["", "<!DOCTYPE html>", public, "<!-- first -->"]).to_owned()
    });
    let (open, close) = match random.below(5) {
        0 => (format!("<rss {declares}='{NS}'><channel>"), "</channel></rss>".to_owned()),
        1 if !prefix.is_empty() => (
            format!("<svg xmlns='http://www.w3.org/2000/svg' {declares}=\"{NS}\"><metadata>"),
            "</metadata></svg>".to_owned(),
        ),
        _ => (
            format!("<{prefix}html {declares}=\"{NS}\"><{prefix}head>"),
            format!("</{prefix}head></{prefix}html>"),
        ),
    };
    parts.push(open);
    if random.one_in(2) {
        parts.push(fits(&format!("<Ptitle>{}</Ptitle>", random.of(&WORDS).replace('<', "&lt;"))));
    }
    for _ in 0..random.below(5) {
        parts.push(fits(random.of(PIECES)));
    }
    let (before, after) = random.of(AROUND);
    parts.push(fits(before));
    parts.push(directive(random, prefix, content, has_entities));
    parts.push(fits(after));
    for _ in 0..random.below(3) {
        parts.push(fits(random.of(PIECES)));
    }
    parts.push(close);
    parts
}

/// A meta element in one of the forms that XML has for it.
fn directive(random: &mut Random, prefix: &str, content: &str, has_entities: bool) -> String {
    let (attribute, name) = addressee(random);
    if has_entities {
        return random
            .of(&[
                "<Pmeta name='robots' content='&said;'/>",
                "<Pmeta name=\"&who;\" content=\"&said;\"/>",
                "<Pmeta name='&#114;obots' content=' &said; '></Pmeta>",
            ])
            .replace('P', prefix);
    }
    match random.below(7) {
        0 => format!("<{prefix}meta {attribute}='{name}' content='{content}'/>"),
        1 => format!("<{prefix}meta\n\t{attribute} = '{name}'\n content = '{content}' />"),
        2 => format!("<{prefix}meta content=\"{content}\" {attribute}=\"{name}\"></{prefix}meta>"),
        3 => format!("<q:meta xmlns:q='{NS}' {attribute}=\"{name}\" content=\"{content}\"/>"),
        4 => format!("<meta xmlns='{NS}' {attribute}=\"{name}\" content=\"{content}\"/>"),
        5 => format!("<{prefix}meta {attribute}=\"{name}\" title=\"a>b\" content=\"&#32;{content}&#x20;\"/>"),
        _ => format!("<{prefix}meta {attribute}=\"{name}\" content=\"{content}\"/>"),
    }
}
