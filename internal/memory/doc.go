// Package memory says how much memory this process may hold and which limit says so, and it reads sizes such as 8GB. A
// run that holds more than there is would be killed after hours, without a word; so it is refused before it begins.
//
// size.go has sizes and the flag --memory-limit. available.go finds the smallest limit of a Linux system: process.go
// reads the process's own limits, and cgroup.go the limits of its control groups. Every other system has one file,
// system_NAME.go.
package memory
