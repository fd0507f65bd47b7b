//go:build race

package simulation

// share is which part of the seeds a run does, 1 of share. Under the race detector SQLite, which is translated to Go, is
// twenty times slower; make test runs this package a second time without it, and then all of them.
const share = 10
