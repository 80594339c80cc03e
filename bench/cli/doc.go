// Package cli is the rollcall command line: one file per command.
//
//	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))                     // the program
//	status := cli.Run(ctx, []string{"run", "--data", "leaf"}, &out, &errors) // one command, as tests call it
//
// A command reads its flags, checks them, calls bench/run, bench/many or bench/nightly, and prints.
// docs/architecture.md follows a run from here to its kernels and its files.
package cli
