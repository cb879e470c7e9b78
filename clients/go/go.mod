module transfer-service-webhooks

go 1.21
