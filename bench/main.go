// Command rollcall benchmarks federated learning when clients are not always available.
package main

import (
	"os"

	"rollcall/bench/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
