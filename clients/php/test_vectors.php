<?php

/* Runs the shared vectors: php clients/php/test_vectors.php */

declare(strict_types=1);

require __DIR__ . '/Webhooks.php';

use TransferService\SignatureError;
use TransferService\Webhooks;

$vectors = json_decode(file_get_contents(__DIR__ . '/../vectors/signatures.json'), true, flags: JSON_THROW_ON_ERROR);
$failed = 0;
foreach ($vectors['cases'] as $case) {
    $verdict = 'valid';
    try {
        $now = new DateTimeImmutable($case['now']);
        $body = base64_decode($case['body_base64'], true);
        Webhooks::verify($case['header'], $body, $case['secret'], $now, $vectors['tolerance_seconds']);
    } catch (SignatureError $error) {
        $verdict = $error->reason;
    }
    if ($verdict !== $case['expected']) {
        $failed++;
        echo "{$case['name']}: $verdict, not {$case['expected']}\n";
    }
}
try {
    Webhooks::verify('t=x', '', '');
    $failed++;
    echo "an empty secret was accepted\n";
} catch (InvalidArgumentException) {
}
echo count($vectors['cases']), " vectors, $failed failed\n";
exit($failed === 0 ? 0 : 1);
