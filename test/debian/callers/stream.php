<?php
// An old integration in PHP without curl. Calls come as JSON on standard input; each answer goes out as a line with the
// status, a tab and the body.

[, $shape, $credential, $version] = $argv;

foreach (json_decode(file_get_contents('php://stdin'), true) as $call) {
    $options = [
        'method' => $call['method'],
        'protocol_version' => $version,
        'ignore_errors' => true,
        'header' => 'Authorization: Basic ' . base64_encode($credential) . "\r\n",
    ];
    if ($call['method'] === 'POST') {
        $options['header'] .= "Content-type: application/x-www-form-urlencoded\r\n";
        $options['content'] = $shape === 'form' ? http_build_query($call['fields']) : json_encode($call['fields']);
    }
    $body = file_get_contents($call['url'], false, stream_context_create(['http' => $options]));
    if ($body === false) {
        exit(1);
    }
    echo explode(' ', $http_response_header[0])[1], "\t", $body, "\n";
}
