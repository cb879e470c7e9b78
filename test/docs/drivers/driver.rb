require 'json'
require_relative 'verify'

cases = JSON.parse(File.read(ARGV[0], encoding: 'UTF-8'))
puts JSON.generate(cases.map { |one| genuine?(one['header'], one['body'], one['secret']) })
