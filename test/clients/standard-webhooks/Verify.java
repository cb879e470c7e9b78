import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import java.net.http.HttpHeaders;
import java.util.List;
import java.util.Map;

class Verify {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> env = System.getenv();
    HttpHeaders headers = HttpHeaders.of(Map.of(
        "webhook-id", List.of(env.get("ID")),
        "webhook-timestamp", List.of(env.get("TIMESTAMP")),
        "webhook-signature", List.of(env.get("SIGNATURE"))), (name, value) -> true);
    Webhook webhook = new Webhook(env.get("SECRET"));
    webhook.verify(env.get("BODY"), headers);
    try {
      webhook.verify(env.get("BODY") + " ", headers);
    } catch (WebhookVerificationException error) {
      System.out.println("verified, then " + error.getMessage());
    }
  }
}
