<?php
// An old integration in PHP with curl: one handle for all its calls, and no Content-Type of its own.
// Calls come as JSON on standard input; each answer goes out as a line with the status, a tab and the body.

$shape = $argv[1];
$handle = curl_init();
curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
curl_setopt($handle, CURLOPT_USERPWD, $argv[2]);

foreach (json_decode(file_get_contents('php://stdin'), true) as $call) {
    curl_setopt($handle, CURLOPT_URL, $call['url']);
    if ($call['method'] === 'GET') {
        curl_setopt($handle, CURLOPT_HTTPGET, true);
    } else {
        curl_setopt($handle, CURLOPT_POST, true);
        curl_setopt($handle, CURLOPT_POSTFIELDS, body($shape, $call['fields']));
    }
    if ($shape === 'expect') {
        curl_setopt($handle, CURLOPT_HTTPHEADER, ['Expect: 100-continue']);
        // It would send the body unasked after a second; so long, that the whole call fails first.
        curl_setopt($handle, CURLOPT_EXPECT_100_TIMEOUT_MS, 60000);
        curl_setopt($handle, CURLOPT_TIMEOUT, 20);
    }
    $body = curl_exec($handle);
    if ($body === false) {
        fwrite(STDERR, curl_error($handle) . "\n");
        exit(1);
    }
    echo curl_getinfo($handle, CURLINFO_RESPONSE_CODE), "\t", $body, "\n";
}

function body($shape, $fields)
{
    switch ($shape) {
        case 'array':
            // curl makes this multipart/form-data.
            return $fields;
        case 'form':
            return http_build_query($fields);
        case 'forwarded':
            // As a script that hands on what a form of its own was sent: PHP has put `_` for the period of a name.
            parse_str(http_build_query($fields), $_POST);
            return http_build_query($_POST);
        default:
            return json_encode($fields);
    }
}
