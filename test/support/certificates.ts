import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Files of a certificate and its key, PEM. */
export interface CertificateFiles {
  certificate: string;
  key: string;
}

export interface TestAuthority extends CertificateFiles {
  /** Signs a certificate with this subject and, for a server, this name. */
  sign(name: string, serverName?: string): CertificateFiles;
}

/** Real certificates in a folder, which `remove` removes. */
export function makeAuthorities() {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const filesOf = (name: string) => ({ certificate: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  return {
    make(ca: string, days = 2): TestAuthority {
      const own = filesOf(ca);
      openssl(
        'req',
        '-x509',
        ...newKey,
        '-subj',
        `/CN=${ca}`,
        '-days',
        String(days),
        '-keyout',
        own.key,
        '-out',
        own.certificate,
      );
      return {
        ...own,
        sign(name, serverName) {
          const files = filesOf(`${ca}-${name}`);
          const [request, extensions] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
          openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', files.key, '-out', request);
          writeFileSync(extensions, serverName ? `subjectAltName=DNS:${serverName}\n` : 'basicConstraints=CA:FALSE\n');
          const signing = ['-CA', own.certificate, '-CAkey', own.key, '-CAcreateserial', '-days', '2'];
          openssl('x509', '-req', '-in', request, ...signing, '-extfile', extensions, '-out', files.certificate);
          return files;
        },
      };
    },
    read: (file: string) => readFileSync(file, 'utf8'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
