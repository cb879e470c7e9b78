<?php

require __DIR__ . '/verify.php';

$cases = json_decode(file_get_contents($argv[1]), true);
echo json_encode(array_map(function ($case) {
    $now = $case['now'] === null ? null : (int) (new DateTimeImmutable($case['now']))->format('Uv');
    return isGenuine($case['header'], base64_decode($case['body_base64']), $case['secret'], $now);
}, $cases));
