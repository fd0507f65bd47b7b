package adapter

import "context"

// User is who spoke: ID is the platform's own of that person, Name what the platform calls them.
type User struct{ Platform, ID, Name string }

// Door decides who may speak (TR1, TR2). Platforms ask it before they read a message, so that unknown users cost nothing; the
// Receiver asks again.
type Door interface {
	// Admits reports whether messages of a user are taken. It does not wait.
	Admits(u User) bool
	// Greets reports whether an unknown user who writes to the bot alone gets an answer now. It does not wait.
	Greets(u User) bool
	// Greet is that answer; empty: none. It may wait for the disk, within ctx.
	Greet(ctx context.Context, u User) (text string, err error)
}
