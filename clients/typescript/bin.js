#!/usr/bin/env node
// npm links this file before the package is built.
import './dist/cli/main.js';
