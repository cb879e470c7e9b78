import java.net.URI;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.EventsAndDeliveriesApi;
import org.openapitools.client.api.TokensApi;
import org.openapitools.client.api.TransfersApi;
import org.openapitools.client.api.WebhookEndpointsApi;
import org.openapitools.client.model.Amount;
import org.openapitools.client.model.Destination;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.TokenRequest;
import org.openapitools.client.model.TransferCreate;
import org.openapitools.client.model.WebhookEndpointCreate;

public class Check {
    public static void main(String[] arguments) throws Exception {
        var client = new ApiClient().setBasePath(System.getenv("BASE_URL"));
        var token = new TokensApi(client).requestToken(new TokenRequest()
            .grantType(TokenRequest.GrantTypeEnum.CLIENT_CREDENTIALS)
            .clientId(System.getenv("CLIENT_ID"))
            .clientSecret(System.getenv("CLIENT_SECRET")));
        client.setAccessToken(token.getAccessToken());
        var endpoint = new WebhookEndpointsApi(client).registerWebhookEndpoint(
            new WebhookEndpointCreate().url(URI.create("https://example.com/hooks")).secret("whsec_0123456789abcdef"), null);
        var transfers = new TransfersApi(client);
        var transfer = transfers.createTransfer(new TransferCreate()
            .amount(new Amount().value(9007199254740991L).currency("EUR"))
            .destination(new Destination().name("Ada").account("DE89")), UUID.randomUUID().toString());
        var page = new EventsAndDeliveriesApi(client).listEvents(null, null, null, null, null, null, null, 1, null);
        var code = "";
        try {
            transfers.getTransfer(UUID.randomUUID());
        } catch (ApiException error) {
            code = Problem.fromJson(error.getResponseBody()).getCode().getValue();
        }
        System.out.println(String.join(" ", endpoint.getEnabled().toString(), transfer.getStatus().getValue(),
            transfer.getAmount().getValue().toString(), page.getData().get(0).getData().getStatus().getValue(), code));
        System.exit(0);
    }
}
