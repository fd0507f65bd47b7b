// Package takeover ends a running gateway for the next one: a start that replaces the holder of its home, and a restart from outside.
//
// What it promises: the holder's own plan has its time before a signal is sent, and each stronger signal has its time before the
// next; a signal goes to the process that holds the home, known by its identity, and to no other; one start or restart of several at
// once is enough; a restart is said to be done only when the next life answers. It prints nothing and reads no flags: Progress says
// what is done.
package takeover
