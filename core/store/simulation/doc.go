// Package simulation holds one test: core/store on a disk that fails, tears writes and loses power, driven by a seed.
//
// What it promises of the store:
//
//   - What a call acknowledged is there after every end of a life, exactly once, and nothing of a call that was refused.
//   - A call that failed took effect whole or not at all, and the next life can tell which.
//   - The database is sound after every power cut.
//   - No fault is swallowed and none lasts: once the disk works, calls work.
//
// A seed replays by itself: the test prints the command.
package simulation
