//! The keys of a round. All are fresh in each.

use std::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::primitive::group::{Group, Ristretto255};
use crate::primitive::proof::{self, Proof, Statement, nonzero};

use super::Params;

/// Form of the encodings of keys: their first byte.
const FORM: u8 = 1;

/// Length of an encoded tag master in bytes.
const MASTER_BYTES: usize = 32;

/// Holder of a key: the first byte of the key's encoding after the form. The key's proof of possession is bound to it,
/// too.
#[derive(Clone, Copy)]
enum Holder {
    Proxy = 1,
    Database = 2,
}

/// The secrets of the proxy and of the oracle in `dh`: s of the row function, the master of tags, and p, with which
/// keys are decrypted.
pub struct ProxyKey<G: Group = Ristretto255> {
    pub(super) row: G::Scalar,
    pub(super) shared: Blinding<G>,
}

/// Secrets of a proxy beside its row function, whatever that is.
pub struct Blinding<G: Group = Ristretto255> {
    master: Zeroizing<[u8; MASTER_BYTES]>,
    pub(super) unseal: G::Scalar,
}

/// The database's secret b.
pub struct DatabaseKey<G: Group = Ristretto255> {
    pub(super) secret: G::Scalar,
}

/// The public keys of a round, whose makers have proved that they know the secret ones: B = b G, P = p G and B + P.
pub struct RoundKeys<G: Group = Ristretto255> {
    pub(crate) database: Key<G>,
    pub(super) proxy: Key<G>,
    pub(super) both: Key<G>,
    /// The encodings of B and P.
    pub(super) encoded: Vec<u8>,
}

/// A public key, made ready.
pub(crate) struct Key<G: Group> {
    pub point: G::Point,
    pub base: G::Base,
}

impl<G: Group + Sync> Blinding<G> {
    /// Draws fresh secrets of the proxy.
    pub(crate) fn generate(group: &G, rng: &mut impl CryptoRng) -> Blinding<G> {
        let mut master = Zeroizing::new([0; MASTER_BYTES]);
        rng.fill_bytes(&mut *master);
        Blinding { master, unseal: group.random_scalars(1, rng).remove(0) }
    }

    /// The public key P with the proof that p is known.
    pub fn public(&self, params: &Params<G>, rng: &mut impl CryptoRng) -> Vec<u8> {
        public(params, &self.unseal, Holder::Proxy, rng)
    }

    /// Whether a round's public key of proxies is that of these secrets.
    pub fn is_of(&self, params: &Params<G>, keys: &RoundKeys<G>) -> bool {
        let group = &params.group;
        let public = group.multiply_generator(std::slice::from_ref(&self.unseal));
        keys.encoded.ends_with(&group.encode(&public))
    }

    /// Their encoding, secret as they are, of [`Blinding::bytes`] bytes.
    pub(crate) fn to_bytes(&self, group: &G) -> Zeroizing<Vec<u8>> {
        Zeroizing::new([&self.master[..], &group.encode_scalar(&self.unseal)].concat())
    }

    /// The secrets that [`Blinding::to_bytes`] has encoded.
    pub(crate) fn from_bytes(group: &G, bytes: &[u8]) -> Option<Blinding<G>> {
        let (master, unseal) = bytes.split_first_chunk::<MASTER_BYTES>()?;
        Some(Blinding { master: Zeroizing::new(*master), unseal: group.decode_scalar(unseal)? })
    }

    /// t of a participant, by what identifies it (see [`report`](super::report())): pseudorandom under the master, and
    /// not zero.
    pub(super) fn tag(&self, params: &Params<G>, participant: &str) -> G::Scalar {
        let mut message = params.transcript("tag");
        message.append("participant", participant.as_bytes());
        let hashed = Zeroizing::new(*blake3::keyed_hash(&self.master, &message.challenge("tag")).as_bytes());
        nonzero(&params.group, &*hashed, b"tacita 1 aggregate tag")
    }
}

impl<G: Group + Sync> ProxyKey<G> {
    /// Draws fresh secrets of the proxy and its row function.
    pub fn generate(params: &Params<G>, rng: &mut impl CryptoRng) -> ProxyKey<G> {
        let row = params.group.random_scalars(1, rng).remove(0);
        ProxyKey { row, shared: Blinding::generate(&params.group, rng) }
    }

    /// The public key P with the proof that p is known, for [`RoundKeys::new`].
    pub fn public(&self, params: &Params<G>, rng: &mut impl CryptoRng) -> Vec<u8> {
        self.shared.public(params, rng)
    }

    /// Their encoding, secret as they are.
    pub fn to_bytes(&self, params: &Params<G>) -> Zeroizing<Vec<u8>> {
        let row = params.group.encode_scalar(&self.row);
        Zeroizing::new([&[FORM, Holder::Proxy as u8][..], &row, &self.shared.to_bytes(&params.group)].concat())
    }

    /// The secrets that [`ProxyKey::to_bytes`] has encoded; none if it has not.
    pub fn from_bytes(params: &Params<G>, bytes: &[u8]) -> Option<ProxyKey<G>> {
        let secrets = bytes.strip_prefix(&[FORM, Holder::Proxy as u8])?;
        let (row, shared) = secrets.split_at_checked(params.group.scalar_bytes())?;
        let shared = Blinding::from_bytes(&params.group, shared)?;
        Some(ProxyKey { row: params.group.decode_scalar(row)?, shared })
    }
}

impl<G: Group + Sync> DatabaseKey<G> {
    /// Draws a fresh secret of the database.
    pub fn generate(params: &Params<G>, rng: &mut impl CryptoRng) -> DatabaseKey<G> {
        DatabaseKey { secret: params.group.random_scalars(1, rng).remove(0) }
    }

    /// The public key B with the proof that b is known, for [`RoundKeys::new`].
    pub fn public(&self, params: &Params<G>, rng: &mut impl CryptoRng) -> Vec<u8> {
        public(params, &self.secret, Holder::Database, rng)
    }

    /// Whether what [`DatabaseKey::public`] has given is of this secret.
    pub fn is_of(&self, params: &Params<G>, public: &[u8]) -> bool {
        let image = params.group.multiply_generator(std::slice::from_ref(&self.secret));
        public.starts_with(&params.group.encode(&image))
    }

    /// Returns the encoding of the key, which is secret like the key.
    pub fn to_bytes(&self, params: &Params<G>) -> Zeroizing<Vec<u8>> {
        let secret = params.group.encode_scalar(&self.secret);
        Zeroizing::new([&[FORM, Holder::Database as u8][..], &secret].concat())
    }

    /// The key that [`DatabaseKey::to_bytes`] has encoded; none if it has not.
    pub fn from_bytes(params: &Params<G>, bytes: &[u8]) -> Option<DatabaseKey<G>> {
        let secret = bytes.strip_prefix(&[FORM, Holder::Database as u8])?;
        Some(DatabaseKey { secret: params.group.decode_scalar(secret)? })
    }
}

impl<G: Group + Sync> RoundKeys<G> {
    /// The keys of a round from what [`DatabaseKey::public`] and [`ProxyKey::public`] have given; none if one of them
    /// does not prove, for this round and this role, that its maker knows the secret.
    pub fn new(params: &Params<G>, database: &[u8], proxy: &[u8], rng: &mut impl CryptoRng) -> Option<RoundKeys<G>> {
        let group = &params.group;
        let database_point = proved(params, database, Holder::Database, rng)?;
        let proxy_point = proved(params, proxy, Holder::Proxy, rng)?;
        let both = group.add(std::slice::from_ref(&database_point), std::slice::from_ref(&proxy_point)).remove(0);
        if group.any_identity(std::slice::from_ref(&both)) {
            return None;
        }
        let encoded = group.encode(&[database_point.clone(), proxy_point.clone()]);
        let [database, proxy, both] = [database_point, proxy_point, both].map(|point| Key::new(group, point));
        Some(RoundKeys { database, proxy, both, encoded })
    }

    /// A fingerprint of both public keys, of this round on these terms: it is the same wherever the round has these
    /// keys, whatever proofs they came with.
    pub fn fingerprint(&self, params: &Params<G>) -> [u8; 32] {
        let mut transcript = params.transcript("keys");
        transcript.append("keys", &self.encoded);
        transcript.challenge("fingerprint")
    }
}

impl<G: Group> Key<G> {
    fn new(group: &G, point: G::Point) -> Key<G> {
        Key { base: group.base(&point), point }
    }
}

/// Statement that somebody knows x with this image x G, as the holder of a key in this round.
fn possession<G: Group + Sync>(params: &Params<G>, image: &G::Point, holder: Holder) -> Statement<G> {
    let generator = params.group.multiply_generator(&[params.group.scalar(1)]).remove(0);
    let mut context = params.transcript("possession");
    context.append("holder", &[holder as u8]);
    Statement::one_scalar([(generator, image.clone())], context)
}

fn public<G: Group + Sync>(
    params: &Params<G>,
    secret: &G::Scalar,
    holder: Holder,
    rng: &mut impl CryptoRng,
) -> Vec<u8> {
    let group = &params.group;
    let image = group.multiply_generator(std::slice::from_ref(secret)).remove(0);
    let statement = possession(params, &image, holder);
    let proof = proof::prove(group, &[statement], &[std::slice::from_ref(secret)], rng).remove(0);
    [group.encode(&[image]), proof.encode(group)].concat()
}

fn proved<G: Group + Sync>(
    params: &Params<G>,
    public: &[u8],
    holder: Holder,
    rng: &mut impl CryptoRng,
) -> Option<G::Point> {
    let group = &params.group;
    let (image, proof) = public.split_at_checked(group.point_bytes())?;
    let image = group.decode(image).ok()?.pop()?;
    let proof = Proof::decode(group, proof, 1, 1)?;
    proof::verify(group, &[possession(params, &image, holder)], &[proof], rng).ok()?;
    Some(image)
}

macro_rules! redacted {
    ($($name:ident)*) => {
        $(impl<G: Group> fmt::Debug for $name<G> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        })*
    };
}

redacted! { ProxyKey Blinding DatabaseKey RoundKeys }
