<?php

require __DIR__ . '/verify.php';

$cases = json_decode(file_get_contents($argv[1]), true);
echo json_encode(array_map(fn ($case) => isGenuine($case['header'], $case['body'], $case['secret']), $cases));
