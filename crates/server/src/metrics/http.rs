//! As much of HTTP/1.1 (RFC 9112) as a scrape needs: GET and HEAD of two paths, one answer for each
//! connection.

/// A request's head may have this many bytes.
pub(super) const HEAD_MAX: usize = 8 << 10;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const PAGE: &str = "duramen: metrics for Prometheus are at /metrics\n";

/// `[HOST:]PORT` as host and port; without a host loopback. An IPv6 address stands in brackets.
pub(super) fn address(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    Some((if host.is_empty() { "127.0.0.1" } else { host }, port.parse().ok()?))
}

/// True if the head's empty line is there.
pub(super) fn is_whole(head: &[u8]) -> bool {
    head.windows(4).any(|w| w == b"\r\n\r\n") || head.windows(2).any(|w| w == b"\n\n")
}

/// The whole answer to a request's head; `metrics` is asked for the body of `/metrics`.
pub(super) fn answer(head: &[u8], metrics: impl FnOnce() -> String) -> Vec<u8> {
    if !is_whole(head) {
        return response("400 Bad Request", "", "no HTTP request\n", true);
    }
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let with_body = match method {
        "GET" => true,
        "HEAD" => false,
        _ => return response("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "only GET and HEAD\n", true),
    };
    match target.split('?').next().unwrap_or_default() {
        "/metrics" => response("200 OK", "", &metrics(), with_body),
        "/" => response("200 OK", "", PAGE, with_body),
        _ => response("404 Not Found", "", PAGE, with_body),
    }
}

fn response(status: &str, headers: &str, body: &str, with_body: bool) -> Vec<u8> {
    let length = body.len();
    let mut out = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {TEXT}\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
    );
    if with_body {
        out.push_str(body);
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_on_loopback_unless_it_has_a_host() {
        assert_eq!(address("9104"), Some(("127.0.0.1", 9104)));
        assert_eq!(address(":9104"), Some(("127.0.0.1", 9104)));
        assert_eq!(address("0.0.0.0:0"), Some(("0.0.0.0", 0)));
        assert_eq!(address("[::1]:80"), Some(("::1", 80)));
        for wrong in ["", "localhost", "a:b", "1:70000"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn requests_get_what_they_ask_for() {
        let check = |head: &str, expected: &str, body: &str| {
            let answer = String::from_utf8(answer(head.as_bytes(), || "x 1\n".into())).unwrap_or_default();
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected}\r\n")), "{head}: {answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{head}: {answer}");
        };
        check("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", "x 1\n");
        check("GET /metrics?a=b HTTP/1.0\n\n", "200 OK", "x 1\n");
        check("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", "");
        check("GET / HTTP/1.1\r\n\r\n", "200 OK", PAGE);
        check("GET /else HTTP/1.1\r\n\r\n", "404 Not Found", PAGE);
        check("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "only GET and HEAD\n");
        check("GET /metrics", "400 Bad Request", "no HTTP request\n");
        check("\u{0}\u{1}\r\n\r\n", "405 Method Not Allowed", "only GET and HEAD\n");
    }
}
