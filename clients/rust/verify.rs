// Verifies the signature of a delivery: `cargo add hmac@0.13 sha2@0.11 hex chrono`.
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use std::collections::HashMap;

fn is_genuine(header: &str, body: &[u8], secret: &[u8]) -> bool {
    is_genuine_at(header, body, secret, Utc::now())
}

fn is_genuine_at(header: &str, body: &[u8], secret: &[u8], now: DateTime<Utc>) -> bool {
    let mut fields = HashMap::new();
    for field in header.split(',') {
        let Some((name, value)) = field.trim().split_once('=') else { return false };
        if value.is_empty() || fields.insert(name, value).is_some() {
            return false;
        }
    }
    let (Some(&t), Some(&v0)) = (fields.get("t"), fields.get("v0")) else { return false };
    let Ok(given) = hex::decode(v0) else { return false };
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret).expect("any length");
    mac.update(t.as_bytes());
    mac.update(b".");
    mac.update(body);
    if mac.verify_slice(&given).is_err() || t.contains(|c: char| c == ' ' || c.is_lowercase()) {
        return false;
    }
    let parsed = DateTime::parse_from_rfc3339(t).or_else(|_| DateTime::parse_from_rfc3339(&format!("{t}Z")));
    parsed.is_ok_and(|signed_at| (now - signed_at.to_utc()).abs() <= TimeDelta::minutes(5))
}
