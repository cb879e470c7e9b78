Gem::Specification.new do |spec|
  spec.name = 'transfer_service_webhooks'
  spec.version = '1.0.0'
  spec.summary = "Verifies the signature of the transfer service's webhook deliveries"
  spec.authors = ['Transfer Service']
  spec.license = 'MIT'
  spec.required_ruby_version = '>= 2.7'
  spec.files = ['transfer_service_webhooks.rb']
  spec.require_paths = ['.']
end
