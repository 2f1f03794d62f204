//! Words that walls of many vendors have in common, in the languages that are met most.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::target::{self, Parts};

/// Titles and headings of pages that check a visitor. Lower case.
const CHECK_PHRASES: &[&str] = &[
    "just a moment",
    "one moment please",
    "one moment, please",
    "security check",
    "security verification",
    "checking your browser",
    "checking the browser",
    "checking if the site connection is secure",
    "not a robot",
    "not a bot",
    "being verified",
    "are you human",
    "are you a human",
    "are you a robot",
    "human verification",
    "bot verification",
    "browser verification",
    "bot protection",
    "bot check",
    "browser check",
    "attention required",
    "ddos protection",
    "ddos-guard",
    "client challenge",
    "pardon our interruption",
    "robot or human",
    "human or robot",
    // German
    "einen moment",
    "nur einen augenblick",
    "sicherheitsüberprüfung",
    "sicherheitsprüfung",
    "sicherheitscheck",
    "kein roboter",
    "kein bot",
    "browser wird überprüft",
    // French
    "un instant",
    "un moment",
    "vérification de sécurité",
    "contrôle de sécurité",
    "pas un robot",
    "vérification en cours",
    // Spanish, Portuguese, Italian, Catalan
    "un momento",
    "um momento",
    "só um momento",
    "comprobación de seguridad",
    "verificación de seguridad",
    "verificação de segurança",
    "verifica di sicurezza",
    "controllo di sicurezza",
    "no soy un robot",
    "no eres un robot",
    "não sou um robô",
    "não é um robô",
    "non sono un robot",
    "non sei un robot",
    // Dutch, Swedish, Danish, Polish, Czech, Turkish
    "een ogenblik",
    "even geduld",
    "beveiligingscontrole",
    "geen robot",
    "ett ögonblick",
    "säkerhetskontroll",
    "et øjeblik",
    "sikkerhedskontrol",
    "chwileczkę",
    "jeszcze chwila",
    "nie jestem robotem",
    "okamžik",
    "bezpečnostní kontrola",
    "nejsem robot",
    "bir dakika lütfen",
    "güvenlik kontrolü",
    "robot olmadığınızı",
    // Russian, Ukrainian
    "один момент",
    "проверка безопасности",
    "проверка браузера",
    "не робот",
    "не бот",
    "перевірка браузера",
    // Chinese, Japanese, Korean
    "人机验证",
    "人機驗證",
    "安全验证",
    "安全驗證",
    "安全检查",
    "安全檢查",
    "不是机器人",
    "不是機器人",
    "正在检查您的浏览器",
    "セキュリティチェック",
    "セキュリティ チェック",
    "ロボットではありません",
    "ボットではない",
    "ブラウザを確認",
    "人間であることを確認",
    "보안 확인",
    "로봇이 아닙니다",
    "브라우저를 확인",
];

/// Beginnings of words for an examination.
const CHECK_VERBS: &[&str] = &[
    "prove",
    "proving",
    "verif",
    "vérif",
    "confirm",
    "check",
    "validat",
    "ensur",
    "prouv",
    "assur",
    "contrôl",
    "bestätig",
    "überprüf",
    "prüf",
    "geprüft",
    "sicherstell",
    "beweis",
    "nachweis",
    "vergewisser",
    "comprob",
    "comprueb",
    "demuestr",
    "asegur",
    "conferm",
    "controll",
    "accert",
    "controleer",
    "bevestig",
    "verifieer",
    "bekräft",
    "bekræft",
    "potwierd",
    "sprawd",
    "weryfik",
    "ověř",
    "doğrula",
    "провер",
    "подтверд",
    "убежда",
    "убед",
    "перевір",
    "підтверд",
];

/// Beginnings of words for what is examined, of four letters at least; the whole word where it is shorter.
const CHECK_NOUNS: &[&str] = &[
    "human",
    "humain",
    "humano",
    "umano",
    "robot",
    "roboter",
    "bot",
    "bots",
    "browser",
    "browsers",
    "navigateur",
    "navegador",
    "navigator",
    "connection",
    "connexion",
    "conexión",
    "conexão",
    "connessione",
    "verbindung",
    "verbinding",
    "mensch",
    "mens",
    "människa",
    "menneske",
    "człowiek",
    "przeglądark",
    "połączeni",
    "člověk",
    "prohlížeč",
    "insan",
    "tarayıcı",
    "человек",
    "робот",
    "робо",
    "бот",
    "браузер",
    "соединени",
    "людин",
];

/// Words between an examination and what is examined.
const NEAR: usize = 8;

/// What refusals say. Lower case.
const BLOCK_PHRASES: &[&str] = &[
    "access denied",
    "access is denied",
    "access forbidden",
    "access to this page has been denied",
    "access has been denied",
    "request blocked",
    "request rejected",
    "request denied",
    "request was blocked",
    "request was rejected",
    "request was denied",
    "request has been blocked",
    "request has been rejected",
    "request has been denied",
    "request is blocked",
    "been blocked",
    "was blocked",
    "you are blocked",
    "limited by the owner",
    "unusual traffic",
    "unusual activity",
    "automated traffic",
    "automated requests",
    "automated access",
    // German, French, Spanish, Italian, Portuguese, Dutch, Russian
    "zugriff verweigert",
    "zugriff wurde verweigert",
    "wurde blockiert",
    "wurden blockiert",
    "anfrage blockiert",
    "anfrage abgelehnt",
    "accès refusé",
    "accès interdit",
    "accès bloqué",
    "a été bloqué",
    "avez été bloqué",
    "requête bloquée",
    "requête rejetée",
    "acceso denegado",
    "ha sido bloquead",
    "solicitud bloqueada",
    "solicitud rechazada",
    "accesso negato",
    "è stato bloccato",
    "è stata bloccata",
    "acesso negado",
    "foi bloquead",
    "toegang geweigerd",
    "is geblokkeerd",
    "доступ запрещен",
    "доступ запрещён",
    "доступ ограничен",
    "заблокирован",
    "访问被拒绝",
    "请求被拦截",
    "アクセスが拒否",
    "アクセスは拒否",
];

/// Beginnings of words before the number of an incident.
const INCIDENT_WORDS: &[&str] = &[
    "ray",
    "refer",
    "référ",
    "support",
    "incident",
    "event",
    "request",
    "block",
    "vorfall",
    "anfrage",
    "ereignis",
    "requête",
    "solicitud",
    "evento",
    "trace",
    "transaction",
];

/// What consent walls are titled.
const CONSENT_PHRASES: &[&str] = &[
    "before you continue",
    "consent",
    "cookie",
    "your privacy",
    "privacy choices",
    "zustimmung",
    "einwilligung",
    "bevor sie",
    "avant de continuer",
    "consentement",
    "vie privée",
    "antes de continuar",
    "consentimiento",
    "tu privacidad",
    "prima di continuare",
    "consenso",
    "voordat je verdergaat",
    "toestemming",
];

/// What buttons of consent walls say.
const ACCEPT_WORDS: &[&str] = &[
    "accept",
    "agree",
    "allow all",
    "consent",
    "akzeptier",
    "zustimm",
    "einverstanden",
    "j'accepte",
    "tout accepter",
    "acept",
    "accett",
    "akkoord",
    "aceit",
    "godkänn",
    "accepter",
    "zgadzam",
    "принять",
    "同意",
];

/// Titles of sites that aren't there: for sale, suspended, or as a server was installed.
const PLACEHOLDER_PHRASES: &[&str] = &[
    "domain is for sale",
    "domain may be for sale",
    "domain name is for sale",
    "this domain is parked",
    "domain has expired",
    "buy this domain",
    "domain zu verkaufen",
    "domain steht zum verkauf",
    "domaine est à vendre",
    "dominio está en venta",
    "account suspended",
    "account has been suspended",
    "site suspended",
    "website suspended",
    "welcome to nginx",
    "apache2 debian default page",
    "apache2 ubuntu default page",
    "apache2 default page",
    "apache http server test page",
    "test page for the apache http server",
    "test page for the nginx http server",
    "http server test page",
    "iis windows server",
    "welcome to iis",
    "default web site page",
    "default plesk page",
];

/// Whether a title or heading says that a visitor is checked.
pub(crate) fn checks(text: &str) -> bool {
    CHECK_PHRASES.iter().any(|phrase| has_phrase(text, phrase)) || checks_by_words(text)
}

/// Whether a word for an examination is near a word for what is examined.
fn checks_by_words(text: &str) -> bool {
    let mut last_verb = None;
    let mut last_noun = None;
    let mut before = "";
    for (place, word) in
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).enumerate()
    {
        let makes_sure = word == "sure" && before.starts_with("mak");
        if makes_sure || CHECK_VERBS.iter().any(|verb| word.starts_with(verb)) {
            last_verb = Some(place);
        }
        if CHECK_NOUNS.iter().any(|noun| word == *noun || noun.chars().count() > 4 && word.starts_with(noun))
        {
            last_noun = Some(place);
        }
        if let (Some(verb), Some(noun)) = (last_verb, last_noun)
            && verb != noun
            && usize::abs_diff(verb, noun) <= NEAR
        {
            return true;
        }
        before = word;
    }
    false
}

/// Whether a text has a phrase that begins and ends where words do. Scripts without spaces have no such bounds.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(start, _)| {
        let bounds = |c: Option<char>| c.is_none_or(|c| !c.is_alphabetic() || u32::from(c) > 0x2e80);
        bounds(text[..start].chars().next_back()) && bounds(text[start + phrase.len()..].chars().next())
    })
}

/// Whether a text says that a request was refused.
pub(crate) fn blocks(text: &str) -> bool {
    BLOCK_PHRASES.iter().any(|phrase| text.contains(phrase))
}

/// Whether a title says that consent is asked for.
pub(crate) fn asks_consent(title: &str) -> bool {
    CONSENT_PHRASES.iter().any(|phrase| title.contains(phrase))
}

/// Whether the text of a button accepts something.
pub(crate) fn accepts(text: &str) -> bool {
    let text = text.to_lowercase();
    ACCEPT_WORDS.iter().any(|word| text.contains(word))
}

/// Whether a title or heading says that there is no site.
pub(crate) fn has_no_site(text: &str) -> bool {
    PLACEHOLDER_PHRASES.iter().any(|phrase| text.contains(phrase))
}

/// Whether a text has the number of an incident: one of some words, `id`, `#`, `no` or a colon, and 8 or more digits or hex digits.
pub(crate) fn has_incident(text: &str) -> bool {
    let is_of_id = |c: char| c.is_ascii_hexdigit() || matches!(c, '-' | '.' | '_');
    let mut rest = text;
    // Each piece is looked at once.
    while let Some(start) = rest.find(char::is_alphabetic) {
        let word_on = &rest[start..];
        let end = word_on.find(|c: char| !c.is_alphabetic()).unwrap_or(word_on.len());
        let (word, behind) = word_on.split_at(end);
        rest = behind;
        if !INCIDENT_WORDS.iter().any(|known| word.starts_with(known)) {
            continue;
        }
        let mut id = behind.trim_start();
        let mut is_named = false;
        for mark in ["id", "identifier", "number", "code", "no.", "no", "nr.", "nr", "#", ":", "is", "="] {
            if let Some(behind) = id.strip_prefix(mark) {
                // `id` isn't the beginning of a longer word.
                let is_word = mark.ends_with(|c: char| c.is_alphabetic());
                if !is_word || !behind.starts_with(|c: char| c.is_alphanumeric()) {
                    is_named = true;
                    id = behind.trim_start();
                }
            }
        }
        let id = id.trim_start_matches(|c: char| matches!(c, '#' | ':' | '=' | '(') || c.is_whitespace());
        let length = id.find(|c: char| !is_of_id(c)).unwrap_or(id.len());
        let digits = id[..length].bytes().filter(u8::is_ascii_hexdigit).count();
        if is_named && digits >= 8 && id[..length].bytes().any(|byte| byte.is_ascii_digit()) {
            return true;
        }
    }
    false
}

/// Whether a text has `reference #18.b0ec655f.1758800000.1a2b3c4d`.
pub(crate) fn has_akamai_reference(text: &str) -> bool {
    text.match_indices("reference #").any(|(start, mark)| {
        let id = text[start + mark.len()..].trim_start();
        let end = id.find(|c: char| !c.is_ascii_hexdigit() && c != '.').unwrap_or(id.len());
        let parts: Vec<&str> = id[..end].trim_end_matches('.').splitn(6, '.').collect();
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        parts.len() == 4
            && is_number(parts[0])
            && is_number(parts[2])
            && parts.iter().all(|part| !part.is_empty())
    })
}

/// Whether a text has some words and a number of 8 or more digits behind them.
pub(crate) fn has_number_after(text: &str, before: &str) -> bool {
    text.match_indices(before).any(|(start, _)| {
        let rest = text[start + before.len()..].trim_start_matches(|c: char| c == ':' || c.is_whitespace());
        rest.bytes().take_while(u8::is_ascii_digit).take(8).count() == 8
    })
}

/// Names of captchas and proofs of work.
const WIDGETS: &[&str] = &[
    "captcha",
    "turnstile",
    "altcha",
    "geetest",
    "arkoselabs",
    "arkose-",
    "funcaptcha",
    "frc-",
    "friendly-challenge",
    "proof-of-work",
    "proof_of_work",
    "proofofwork",
    "pow-challenge",
    "pow_challenge",
    "powchallenge",
    "challenge-pow",
    "js-pow",
    "data-pow",
    "hashcash",
    "cap-widget",
    "prosopo",
    "challenges.cloudflare.com",
    "antibot",
    "anti-bot",
    "botcheck",
    "bot-check",
    "human-verification",
];

/// Names of challenges, which count only beside words.
const CHALLENGES: [&str; 6] =
    ["challenge", "browser-check", "browser-verification", "checkpoint", "verify-human", "verification-"];

/// What a name is that of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// A captcha or a proof of work.
    pub(crate) widget: bool,
    /// The words are those of a challenge.
    pub(crate) challenge: bool,
}

/// All names of captchas, proofs of work and challenges.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    WIDGETS.iter().chain(&CHALLENGES).copied()
}

/// What a name of an element, a class, a host or a path is that of.
pub(crate) fn named(name: &str) -> Named {
    static NAMES: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(names()).ok());
    let mut named = Named::default();
    for found in NAMES.iter().flat_map(|names| names.find_overlapping_iter(name)) {
        let is_widget = found.pattern().as_usize() < WIDGETS.len();
        named.widget |= is_widget;
        named.challenge |= !is_widget;
    }
    named
}

/// Whether a script is one that vendors put on good pages too.
pub(crate) fn is_ambient(parts: &Parts<'_>) -> bool {
    let is_of = |name: &str| parts.host.is_some_and(|host| target::is_host_below(host, name));
    parts.path.contains("/cdn-cgi/challenge-platform/")
        || parts.path.contains("/_fs-ch-")
        || is_of("awswaf.com")
        || is_of("captcha-delivery.com") && parts.path.to_ascii_lowercase().ends_with(".js")
}

/// Words of a path that says that what follows is a check.
const CHECK_SEGMENTS: &[&str] = &[
    "captcha",
    "challenge",
    "botcheck",
    "bot-check",
    "bot_check",
    "bot-detection",
    "antibot",
    "anti-bot",
    "human-verification",
    "human_verification",
    "humanverification",
    "human-check",
    "humancheck",
    "verify-human",
    "verify_human",
    "are-you-human",
    "not-a-robot",
];

/// Whether a path is one of checks, by one of its segments. It means nothing without the asked URL in the query.
pub(crate) fn is_check_path(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.split('/').any(|segment| CHECK_SEGMENTS.iter().any(|word| segment.contains(word)))
        || path.ends_with("/sorry/index")
}

/// Whether a path is a sign-in, by its last segment. In a redirect it means nothing without the asked URL in the query.
pub(crate) fn is_login_path(path: &str) -> bool {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let last = last.split(';').next().unwrap_or_default();
    last.starts_with("login.")
        || matches!(
            last,
            "login"
                | "log-in"
                | "log_in"
                | "signin"
                | "sign_in"
                | "sign-in"
                | "signon"
                | "sign-on"
                | "logon"
                | "auth"
                | "wp-login.php"
        )
}

/// Whether a URL is that of a sign-in or an account: there a form for a password is the page.
pub(crate) fn is_login_address(path: &str) -> bool {
    let words = [
        "login", "log-in", "signin", "sign_in", "sign-in", "signon", "logon", "auth", "account", "session",
        "user", "register", "password", "admin", "member",
    ];
    path.to_ascii_lowercase().split('/').any(|segment| words.iter().any(|word| segment.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_checks_a_visitor_is_told_from_what_sounds_alike() {
        for text in [
            "just a moment...",
            "making sure you're not a bot!",
            "please verify that you are human",
            "we are checking your connection",
            "bitte bestätigen sie, dass sie ein mensch sind",
            "vérifiez que vous êtes humain",
            "confirme que es humano",
            "проверяем ваш браузер",
            "请完成安全验证",
            "press and hold to confirm you are a human (and not a bot).",
        ] {
            assert!(checks(text), "{text}");
        }
        for text in [
            "making sure you have everything for the trip",
            "verified by both parties",
            "robots in the kitchen",
            "how to prove a theorem about bottles",
            "confirm your order",
            "human resources",
            "browser statistics",
            "un momentous day",
        ] {
            assert!(!checks(text), "{text}");
        }
    }

    #[test]
    fn an_incident_has_a_name_and_a_long_number() {
        for text in [
            "cloudflare ray id: 8f2ab31c9d0e4a11",
            "event id: 4f5e3b17aa90",
            "reference id 1b2c3d4e-0000-11f0",
            "incident id: 512000310012345678-43210",
            "your support id is: 12345678901234567890",
            "request #12345678",
            "block id: 0012345678",
        ] {
            assert!(has_incident(text), "{text}");
        }
        for text in [
            "event id: 12",
            "request 12345678",
            "reference numbers",
            "support ideas 12345678",
            "id: 12345678",
            "",
        ] {
            assert!(!has_incident(text), "{text}");
        }
    }

    #[test]
    fn names_of_captchas_are_found_in_any_case_and_within_others() {
        for name in ["g-recaptcha", "MTCaptcha", "cf-turnstile", "js-pow-sha256", "pow-challenge box"] {
            assert!(named(name).widget, "{name}");
        }
        assert_eq!(named("challenge-form"), Named { widget: false, challenge: true });
        assert!(named("pow-challenge").challenge && named("power-tools") == Named::default());
    }

    #[test]
    fn the_reference_of_akamai_has_four_parts() {
        assert!(has_akamai_reference("reference #18.b0ec655f.1758800000.1a2b3c4d"));
        assert!(
            !has_akamai_reference("reference #18.b0ec655f") && !has_akamai_reference("reference #a.b.c.d")
        );
    }
}
