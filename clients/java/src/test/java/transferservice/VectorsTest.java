package transferservice;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;

/**
 * Reads the shared vectors from standard input, since the standard library has no JSON parser: a line for each, with
 * name, header ("-": none), body, secret, now and verdict, separated by tabs, in base64 but for the last two.
 * `npm run test:nightly -- test/clients/verifiers.nightly.test.ts` runs it.
 */
public final class VectorsTest {
    public static void main(String[] args) throws Exception {
        int failed = 0;
        int count = 0;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] part = line.split("\t", -1);
            String header = part[1].equals("-") ? null : text(part[1]);
            String verdict = "valid";
            try {
                Webhooks.verify(header, Base64.getDecoder().decode(part[2]), text(part[3]), Instant.parse(part[4]),
                        Duration.ofSeconds(300));
            } catch (Webhooks.SignatureException error) {
                verdict = error.code();
            }
            count++;
            if (!verdict.equals(part[5])) {
                failed++;
                System.out.println(text(part[0]) + ": " + verdict + ", not " + part[5]);
            }
        }
        System.out.println(count + " vectors, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }

    private static String text(String base64) {
        return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
    }
}
