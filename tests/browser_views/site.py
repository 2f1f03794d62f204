"""Two small sites on loopback for tests/browser. Prints its port, and serves until it is killed."""

import http.server
import urllib.parse

PAGES = 60
SCRIPT = "&lt;script&gt;document.title='run'&lt;/script&gt;"
ROBOTS = b"# two sites for a browser\nUser-agent: *\nDisallow: /private\nAllow: /\n"
STYLE = b"body { font-family: sans-serif; color: #123 }"


def page(host, path):
    """Status, type and body of a path; pages link to two others, so that all are found."""
    if path == "/robots.txt":
        return 200, "text/plain", ROBOTS
    if path == "/style.css":
        return 200, "text/css", STYLE
    number = 0 if path == "/" else int(path[2:]) if path[:2] == "/p" and path[2:].isdigit() else PAGES
    if path == "/noindex":
        body = "<!doctype html><meta name=robots content=noindex><title>kept out</title>secret"
        return 200, "text/html", body.encode()
    if number >= PAGES:
        return 404, "text/html", b"<!doctype html><title>not found</title>"
    links = [f"/p{2 * number + 1}", f"/p{2 * number + 2}", "/private/x", "/noindex", f"/missing{number % 3}"]
    if number == 0:
        links.append("http://b.test:%d/" % PORT if host == "a.test" else "http://a.test:%d/" % PORT)
    words = " ".join(f"<p>Page {number} of {host}: harbours, tides and lighthouses, part {n}.</p>" for n in range(20))
    anchors = "".join(f'<a href="{link}">to {link}</a> ' for link in links)
    body = (
        f'<!doctype html><html lang="en"><title>Page {number} {SCRIPT if number == 3 else ""}</title>'
        f'<link rel="stylesheet" href="/style.css"><h1>Page {number}</h1>{words}{anchors}'
    )
    return 200, "text/html; charset=utf-8", body.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        host = (self.headers.get("Host") or "").split(":")[0]
        status, kind, body = page(host, urllib.parse.urlsplit(self.path).path)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
PORT = server.server_port
print(PORT, flush=True)
server.serve_forever()
