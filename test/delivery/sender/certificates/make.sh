#!/bin/sh
# Makes the certificates of test/delivery/sender/send-tls.test.ts: the test's own issuer and the certificates that it
# signed, valid from 2020 to 2119; an expired one (2021); a self-signed one. The keys protect nothing, so that they may
# be committed. Requires OpenSSL 3.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/index"
cat >"$work/ca.cnf" <<CONFIG
[ca]
default_ca = issuer
[issuer]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
CONFIG
sign() { # request, out, first day, last day, how
  openssl ca -batch -notext -config "$work/ca.cnf" -in "$1" -out "$2" -startdate "$3" -enddate "$4" -keyfile "$5" \
    ${6:+-cert "$6"} ${7:+"$7"}
}
request() { # key, name, extension
  openssl ecparam -name prime256v1 -genkey -noout -out "$1"
  openssl req -new -key "$1" -subj "/CN=$2" -addext "$3" -out "$work/request"
}
issue() { # name, names it is for, first day, last day
  request "$1.key" "$1" "subjectAltName=$2"
  sign "$work/request" "$1.pem" "$3" "$4" "$work/ca.key" ca.pem
}
request "$work/ca.key" 'transfer-service test issuer' basicConstraints=critical,CA:TRUE
sign "$work/request" ca.pem 20200101000000Z 21191231000000Z "$work/ca.key" '' -selfsign
issue receiver 'DNS:receiver.test,DNS:localhost,IP:127.0.0.1' 20200101000000Z 21191231000000Z
issue other-host 'DNS:other.test' 20200101000000Z 21191231000000Z
issue expired 'DNS:receiver.test' 20200101000000Z 20210101000000Z
request self-signed.key self-signed subjectAltName=DNS:receiver.test
sign "$work/request" self-signed.pem 20200101000000Z 21191231000000Z self-signed.key '' -selfsign
