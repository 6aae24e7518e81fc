//! The few questions that are put to etcd, by the JSON that it speaks over HTTP/1 (its gRPC gateway:
//! <https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/>): keys and values are in base64 there, and numbers of 64
//! bits in strings.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::base::text::shown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::trust::{Shown, trusting};
use crate::wire::peers::is_address;

/// Time limit for a member's answer, a connection included.
const LIMIT: Duration = Duration::from_secs(3);

/// Bytes of an answer, and of its head.
const MAX_BYTES: usize = 1 << 20;
const MAX_HEAD_BYTES: usize = 1 << 14;

/// Entries that are read.
const MAX_ENTRIES: u64 = 1 << 10;

/// Members of one registry.
const MAX_MEMBERS: usize = 16;

const USAGE: &str = "write http://HOST:PORT or https://HOST:PORT, with commas between several";

/// An etcd, by one or several of its members.
pub(super) struct Etcd {
    members: Vec<Member>,
    /// Index of the member that answered last.
    at: usize,
    open: Option<SendRequest<Full<Bytes>>>,
}

struct Member {
    address: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// Lease that keeps an entry alive.
pub(super) struct Lease(String);

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Etcd {
    /// Members at `urls`, with commas between.
    ///
    /// Errors ([`Error::Input`]): one is no URL, or who has issued its certificate is not said, or cannot be read.
    pub(super) fn new(urls: &str, ca: Option<&Path>, certificate: Option<Shown>) -> Result<Etcd> {
        let config = ca.map(|path| trusting("--registry-ca ", path, certificate)).transpose()?;
        let members = urls.split(',').map(|url| Member::new(url, config.as_ref())).collect::<Result<Vec<_>>>()?;
        if members.len() > MAX_MEMBERS {
            return Err(Error::Input(format!("--registry: at most {MAX_MEMBERS} addresses are taken")));
        }
        if let Some(path) = ca.filter(|_| members.iter().all(|member| member.tls.is_none())) {
            return Err(Error::Input(format!(
                "--registry-ca {}: no address of --registry begins with https://",
                path.display()
            )));
        }
        Ok(Etcd { members, at: 0, open: None })
    }

    /// A lease of so many seconds.
    pub(super) async fn grant(&mut self, seconds: u64) -> std::result::Result<Lease, String> {
        let told = self.call("/v3/lease/grant", &json!({ "TTL": seconds.to_string() })).await?;
        match told["ID"].as_str() {
            Some(id) if id.parse::<i64>().is_ok() => Ok(Lease(id.to_owned())),
            _ => Err("it grants no lease".into()),
        }
    }

    /// Renews a lease; whether there still is one.
    pub(super) async fn renew(&mut self, lease: &Lease) -> std::result::Result<bool, String> {
        let told = self.call("/v3/lease/keepalive", &json!({ "ID": lease.0 })).await?;
        let left = told["result"]["TTL"].as_str().and_then(|seconds| seconds.parse::<i64>().ok());
        Ok(left.is_some_and(|left| left > 0))
    }

    /// Ends a lease, and what lives by it.
    pub(super) async fn revoke(&mut self, lease: &Lease) -> std::result::Result<(), String> {
        self.call("/v3/lease/revoke", &json!({ "ID": lease.0 })).await.map(drop)
    }

    /// Puts an entry that lives by a lease.
    pub(super) async fn put(&mut self, key: &str, value: &[u8], lease: &Lease) -> std::result::Result<(), String> {
        let said = json!({ "key": BASE64.encode(key.as_bytes()), "value": BASE64.encode(value), "lease": lease.0 });
        self.call("/v3/kv/put", &said).await.map(drop)
    }

    /// Returns all entries whose keys begin with `prefix`, which is not to end with the byte 255.
    pub(super) async fn range(&mut self, prefix: &str) -> std::result::Result<Vec<(Vec<u8>, Vec<u8>)>, String> {
        let mut end = prefix.as_bytes().to_vec();
        end.iter_mut().next_back().into_iter().for_each(|last| *last += 1);
        let said = json!({
            "key": BASE64.encode(prefix.as_bytes()),
            "range_end": BASE64.encode(&end),
            "limit": MAX_ENTRIES.to_string(),
        });
        entries(&self.call("/v3/kv/range", &said).await?).ok_or_else(|| "its entry cannot be read".into())
    }

    /// Asks one member after the other, until one answers.
    async fn call(&mut self, path: &str, said: &Value) -> std::result::Result<Value, String> {
        let mut failures = Vec::new();
        for _ in 0..self.members.len() {
            let what = match timeout(LIMIT, self.attempt(path, said)).await {
                Ok(Ok(told)) => return Ok(told),
                Ok(Err(what)) => what,
                Err(_) => "no answer in time".to_owned(),
            };
            self.open = None;
            failures.push(format!("{}: {what}", self.members[self.at].address));
            self.at = (self.at + 1) % self.members.len();
        }
        Err(failures.join("; "))
    }

    async fn attempt(&mut self, path: &str, said: &Value) -> std::result::Result<Value, String> {
        let member = &self.members[self.at];
        let request = || {
            let request = Request::post(path)
                .header(header::HOST, &member.address)
                .header(header::CONTENT_TYPE, "application/json")
                .body(Full::new(Bytes::from(said.to_string())));
            request.map_err(|error| error.to_string())
        };
        if let Some(mut kept) = self.open.take().filter(|kept| !kept.is_closed())
            && kept.ready().await.is_ok()
            && let Ok(answer) = kept.send_request(request()?).await
        {
            let told = read(answer).await?;
            self.open = Some(kept);
            return Ok(told);
        }
        let mut fresh = member.connect().await?;
        let answer = fresh.send_request(request()?).await.map_err(|error| error.to_string())?;
        let told = read(answer).await?;
        self.open = Some(fresh);
        Ok(told)
    }
}

impl Member {
    fn new(url: &str, config: Option<&Arc<ClientConfig>>) -> Result<Member> {
        let bad = |what: &str| Error::Input(format!("--registry: {what}: {USAGE}"));
        let url = url.trim();
        // A password would be in every list of processes.
        if url.contains('@') {
            return Err(bad("it takes no user and no password"));
        }
        let (is_private, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(bad(&format!("`{}` is no address of etcd", shown(url)))),
        };
        let address = rest.strip_suffix('/').unwrap_or(rest);
        if !is_address(address) {
            return Err(bad(&format!("`{}` is no address of etcd", shown(url))));
        }
        let tls = match (is_private, config) {
            (false, _) => None,
            (true, Some(config)) => {
                let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
                let name = ServerName::try_from(host.to_owned()).map_err(|error| bad(&error.to_string()))?;
                Some((TlsConnector::from(config.clone()), name))
            }
            (true, None) => {
                return Err(Error::Input(
                    "--registry: https:// needs --registry-ca FILE, the certificate (PEM) of the issuer of etcd's"
                        .into(),
                ));
            }
        };
        Ok(Member { address: address.to_owned(), tls })
    }

    async fn connect(&self) -> std::result::Result<SendRequest<Full<Bytes>>, String> {
        let failed = |error: std::io::Error| error.to_string();
        let socket = TcpStream::connect(&self.address).await.map_err(failed)?;
        let _ = socket.set_nodelay(true);
        let stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(socket),
            Some((connector, name)) => Box::new(connector.connect(name.clone(), socket).await.map_err(failed)?),
        };
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_HEAD_BYTES);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        // How it ends is found by the question that it is for.
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// The JSON of an answer: the first object, where it is a stream of them.
async fn read(answer: Response<Incoming>) -> std::result::Result<Value, String> {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            format!("its answer is longer than {MAX_BYTES} bytes")
        } else {
            error.to_string()
        }
    })?;
    let body = body.to_bytes();
    let told =
        serde_json::Deserializer::from_slice(&body).into_iter::<Value>().next().and_then(std::result::Result::ok);
    match (status.is_success(), told) {
        (true, Some(told)) if told.get("error").is_none() => Ok(told),
        (true, None) => Err("its answer is not JSON: check that this is etcd".into()),
        (_, told) => {
            let why = told.as_ref().and_then(|told| told["message"].as_str().or(told["error"]["message"].as_str()));
            Err(format!("status {}{}", status.as_u16(), why.map_or(String::new(), |why| format!(", {}", shown(why)))))
        }
    }
}

/// Keys and values of an answer.
fn entries(told: &Value) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let bytes = |value: &Value| match value {
        // What is empty is left out.
        Value::Null => Some(Vec::new()),
        value => BASE64.decode(value.as_str()?.as_bytes()).ok(),
    };
    match &told["kvs"] {
        Value::Null => Some(Vec::new()),
        kvs => kvs.as_array()?.iter().map(|one| Some((bytes(&one["key"])?, bytes(&one["value"])?))).collect(),
    }
}
