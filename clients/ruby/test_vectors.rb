# frozen_string_literal: true

# Runs the shared vectors: ruby clients/ruby/test_vectors.rb

require 'json'
require_relative 'transfer_service_webhooks'

vectors = JSON.parse(File.read("#{__dir__}/../vectors/signatures.json", encoding: 'UTF-8'))
failed = vectors['cases'].reject do |one|
  verdict = begin
    TransferServiceWebhooks.verify(one['header'], one['body_base64'].unpack1('m'), one['secret'],
                                   now: Time.iso8601(one['now']), tolerance_seconds: vectors['tolerance_seconds'])
    'valid'
  rescue TransferServiceWebhooks::SignatureError => e
    e.code
  end
  puts "#{one['name']}: #{verdict}, not #{one['expected']}" if verdict != one['expected']
  verdict == one['expected']
end
[[{}, 'secret'], ['', '']].each do |body, secret|
  TransferServiceWebhooks.verify('t=x', body, secret)
  abort 'wrong use was accepted'
rescue ArgumentError
  next
end
puts "#{vectors['cases'].size} vectors, #{failed.size} failed"
exit failed.empty?
