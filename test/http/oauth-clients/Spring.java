import com.nimbusds.oauth2.sdk.ClientCredentialsGrant;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.as.AuthorizationServerMetadata;
import com.nimbusds.oauth2.sdk.auth.ClientSecretBasic;
import com.nimbusds.oauth2.sdk.auth.Secret;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import org.springframework.security.oauth2.client.AuthorizedClientServiceOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.InMemoryOAuth2AuthorizedClientService;
import org.springframework.security.oauth2.client.OAuth2AuthorizeRequest;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientProviderBuilder;
import org.springframework.security.oauth2.client.registration.ClientRegistrations;
import org.springframework.security.oauth2.client.registration.InMemoryClientRegistrationRepository;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.web.client.RestClient;

/** Spring Security with what application.yaml has: issuer-uri, client-id, client-secret and the grant. Then Nimbus. */
public class Spring {
    public static void main(String[] arguments) throws Exception {
        var url = System.getenv("BASE_URL");
        var registration = ClientRegistrations.fromIssuerLocation(url).registrationId("transfers")
            .clientId(System.getenv("CLIENT_ID")).clientSecret(System.getenv("CLIENT_SECRET"))
            .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS).build();
        var registrations = new InMemoryClientRegistrationRepository(registration);
        var manager = new AuthorizedClientServiceOAuth2AuthorizedClientManager(
            registrations, new InMemoryOAuth2AuthorizedClientService(registrations));
        manager.setAuthorizedClientProvider(OAuth2AuthorizedClientProviderBuilder.builder().clientCredentials().build());
        var client = manager.authorize(
            OAuth2AuthorizeRequest.withClientRegistrationId("transfers").principal("system").build());
        var status = RestClient.create().get().uri(url + "/transfers")
            .headers(headers -> headers.setBearerAuth(client.getAccessToken().getTokenValue()))
            .retrieve().toBodilessEntity().getStatusCode();

        var metadata = AuthorizationServerMetadata.resolve(new Issuer(url));
        var wrong = new ClientSecretBasic(new ClientID(System.getenv("CLIENT_ID")), new Secret("wrong"));
        var request = new TokenRequest(metadata.getTokenEndpointURI(), wrong, new ClientCredentialsGrant());
        var response = TokenResponse.parse(request.toHTTPRequest().send());
        System.out.println(status.value() + " " + response.toErrorResponse().getErrorObject().getCode());
        System.exit(0);
    }
}
