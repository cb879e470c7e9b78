require 'base64'
require 'json'
require_relative 'verify'

cases = JSON.parse(File.read(ARGV[0], encoding: 'UTF-8'))
verdicts = cases.map do |one|
  now = one['now'] ? Time.iso8601(one['now']) : Time.now
  genuine?(one['header'], Base64.decode64(one['body_base64']), one['secret'], now)
end
puts JSON.generate(verdicts)
