// Package signals lists the signals by which a batch system asks for the end of a command.
package signals
