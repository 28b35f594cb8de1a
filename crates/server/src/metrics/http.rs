//! As much of HTTP/1.1 (RFC 9112) as a scrape and the status page need: GET and HEAD, one answer
//! for each connection.
//!
//! (H1) Each answer says that it is of its type, stored nowhere, and may run nothing but the
//!      scripts that it names.

/// A request's head may have this many bytes.
pub(super) const HEAD_MAX: usize = 8 << 10;

/// The type of metrics and messages.
pub(super) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const JSON: &str = "application/json";

const NOT_FOUND: &str =
    "duramen: the status page is at /, its numbers at /status.json, metrics for Prometheus at /metrics\n";

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

/// What of a request's head matters here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) is_head: bool,
    pub(super) path: &'a str,
    /// After the question mark.
    pub(super) query: &'a str,
    pub(super) host: Option<&'a str>,
    pub(super) authorization: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// # Errors
    /// The answer: it is no request, or none that is answered here.
    pub(super) fn parse(head: &'a [u8]) -> Result<Self, Response> {
        let bad = || Response::text("400 Bad Request", "no HTTP request\n");
        if !is_whole(head) {
            return Err(bad());
        }
        let mut lines = head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let line = lines.next().unwrap_or_default();
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_head = match method {
            b"GET" => false,
            b"HEAD" => true,
            _ => {
                let refusal = Response::text("405 Method Not Allowed", "only GET and HEAD\n");
                return Err(refusal.with("Allow: GET, HEAD"));
            }
        };
        let target = str::from_utf8(target).map_err(|_| bad())?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Self { is_head, path, query, host: None, authorization: None };
        for line in lines.take_while(|line| !line.is_empty()) {
            let Some((name, value)) = str::from_utf8(line).ok().and_then(|line| line.split_once(':')) else {
                continue;
            };
            let field = match name.to_ascii_lowercase().as_str() {
                "host" => &mut request.host,
                "authorization" => &mut request.authorization,
                _ => continue,
            };
            // Which of two would count is what attacks are made of.
            if field.replace(value.trim()).is_some() {
                return Err(bad());
            }
        }
        Ok(request)
    }

    /// The number that the query gives a name.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name)?.1.parse().ok()
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    status: &'static str,
    content_type: &'static str,
    headers: String,
    /// What the answer may run and load, in the words of a Content-Security-Policy.
    policy: String,
    body: String,
}

impl Response {
    pub(super) fn new(content_type: &'static str, body: String) -> Self {
        Self { status: "200 OK", content_type, headers: String::new(), policy: String::new(), body }
    }

    pub(super) fn text(status: &'static str, body: &str) -> Self {
        Self { status, ..Self::new(TEXT, body.to_owned()) }
    }

    pub(super) fn not_found() -> Self {
        Self::text("404 Not Found", NOT_FOUND)
    }

    /// Adds a header.
    pub(super) fn with(mut self, header: &str) -> Self {
        self.headers.push_str(header);
        self.headers.push_str("\r\n");
        self
    }

    /// Allows something beyond nothing (H1).
    pub(super) fn allowing(mut self, policy: String) -> Self {
        self.policy = policy;
        self
    }

    /// As it is sent; of a request for the head without the body.
    pub(super) fn into_bytes(self, is_head: bool) -> Vec<u8> {
        let Self { status, content_type, headers, policy, body } = self;
        let length = body.len();
        let mut out = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{headers}\
             Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'{policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        );
        if !is_head {
            out.push_str(&body);
        }
        out.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
    fn requests_are_read() {
        let request = Request::parse(
            b"GET /a?b=1&after=20 HTTP/1.1\r\nHOST: x:1 \r\nauthorization:Bearer t\r\n: odd\r\n\xff\r\n\r\nHost: body",
        )
        .unwrap();
        assert_eq!(
            (request.path, request.host, request.authorization),
            ("/a", Some("x:1"), Some("Bearer t"))
        );
        assert_eq!(
            (request.number("after"), request.number("afte"), request.is_head),
            (Some(20), None, false)
        );
        let request = Request::parse(b"HEAD / HTTP/1.0\n\n").unwrap();
        assert_eq!((request.path, request.host, request.is_head), ("/", None, true));
        assert_eq!(Request::parse(b"GET\r\n\r\n").unwrap().path, "");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let check = |head: &[u8], expected: &str| {
            let answer = Request::parse(head).unwrap_err().into_bytes(false);
            let answer = String::from_utf8(answer).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected}\r\n")), "{answer}");
        };
        check(b"GET /metrics", "400 Bad Request");
        check(b"", "400 Bad Request");
        check(b"GET /\xff HTTP/1.1\r\n\r\n", "400 Bad Request");
        check(b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", "400 Bad Request");
        check(b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed");
        check(b"get / HTTP/1.1\r\n\r\n", "405 Method Not Allowed");
        check(b"\x00\x01\r\n\r\n", "405 Method Not Allowed");
    }

    #[test]
    fn answers_say_how_they_are_to_be_treated() {
        let answer = |is_head| {
            let response = Response::new(JSON, "{}".into()).with("A: b").allowing("; img-src data:".into());
            String::from_utf8(response.into_bytes(is_head)).unwrap()
        };
        let whole = answer(false);
        for line in [
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nA: b\r\n",
            "frame-ancestors 'none'; img-src data:\r\n",
            "Cache-Control: no-store\r\n",
        ] {
            assert!(whole.contains(line), "no {line:?} in {whole}");
        }
        assert_eq!(whole.strip_suffix("{}"), Some(&*answer(true)));
    }
}
