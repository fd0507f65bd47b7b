package bot

import "log/slog"

// Options is what a platform needs of a bot.
type Options struct {
	// Token is the bot's token.
	Token string
	// TokenSource is where Token should come from, for error texts: the name of the variable or the file.
	TokenSource string
	// BaseURL is the platform's API; empty is the platform's own.
	BaseURL string
	// Groups are the ids of the groups, guilds and channels that the bot listens in, the threads of a channel included. In others it
	// says nothing.
	Groups []int64
	// Log takes one line for each unknown user and for what else the Supervisor does not learn; nil discards them.
	Log *slog.Logger
}
