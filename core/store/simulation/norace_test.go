//go:build !race

package simulation

// share is which part of the seeds a run does, 1 of share.
const share = 1
