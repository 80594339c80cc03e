package main

import "os"

// longAttacks is whether attacks of minutes are tried as well: `make test-long`.
var longAttacks = os.Getenv("ROLLCALL_TEST_LONG") != ""
