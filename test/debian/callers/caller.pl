# An old integration in Perl with nothing but its core: a body without a form's label is an octet stream.
# Calls come as JSON on standard input; each answer goes out as a line with the status, a tab and the body.

use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;
use MIME::Base64;

my ($shape, $credential) = @ARGV;
my $headers = { Authorization => 'Basic ' . encode_base64($credential, '') };
my $agent = HTTP::Tiny->new(keep_alive => 1);

for my $call (@{ decode_json(do { local $/; <STDIN> }) }) {
    my ($url, $fields) = @{$call}{qw(url fields)};
    my $answer =
        $call->{method} eq 'GET' ? $agent->get($url, { headers => $headers })
        : $shape eq 'form'       ? $agent->post_form($url, $fields, { headers => $headers })
        :                          $agent->post($url, { headers => $headers, content => encode_json($fields) });
    die $answer->{content} if $answer->{status} == 599;
    print "$answer->{status}\t$answer->{content}\n";
}
