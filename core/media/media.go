// Package media is the way of files between chats and agents. Files of messages are fetched when their turn begins and
// become pictures for a model that can see, text, or files in the work folder (take.go, folder.go, transcribe.go). Files
// that an agent sends are copied into the home and go out through the outbox (send.go). Both go when they are old (prune.go).
//
// What it promises: a message costs bounded time, memory and disk, also if its sender and its platform lie about its files. What
// a file is, its content says, never its name. A file from a chat is written into its session's folder alone, follows no link
// and replaces nothing. No file outside of the work folder, and none of the gateway's home, goes to a chat. What was not taken
// is said, with the reason, to the model and to the user, and the turn goes on with the rest.
//
// Its lock guards a map alone. Its methods may be called from any goroutine after Open; they read and write the disk.
package media

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"gatewaytui/core/adapter"
	"gatewaytui/core/files"
)

// Platforms is the way to the files of chats. *adapter.Supervisor is one.
type Platforms interface {
	Fetch(ctx context.Context, name, ref string, most int64) ([]byte, error)
	// Can reports whether the adapter has an ability, Bounds what it allows in a chat. Neither waits.
	Can(name string, a adapter.Ability) bool
	Bounds(name, target string) adapter.Bounds
}

// Outbox takes files to chats. *delivery.Outbox is one.
type Outbox interface {
	// PostFile writes a message that is a file into the journal and begins to send it. file is for Outgoing.
	PostFile(ctx context.Context, key, target, caption, file string) error
	// WaitingFiles are the files that still have to be sent, as PostFile got them.
	WaitingFiles() []string
}

// Transcriber turns speech into text. *Transcription is one.
type Transcriber interface {
	Transcribe(ctx context.Context, name string, speech []byte) (string, error)
}

// Options are what a Media needs. Every field but Transcriber is required.
type Options struct {
	// Work is the work folder of the agents, and Kept the folder of the gateway's home for copies of sent files. Both are made
	// when they are needed.
	Work, Kept string
	// Folder is the work folder as agents see it: what they send is opened there.
	Folder *files.Folder
	// Transcriber hears voice messages; nil: nothing does.
	Transcriber Transcriber
	Log         *slog.Logger
}

// Media is the files of one gateway.
type Media struct {
	o     Options
	mu    sync.Mutex
	rooms map[string]*semaphore.Weighted // by platform, made when they are needed; mu guards the map
	// What follows is set by Open, before the first message.
	platforms Platforms
	outbox    Outbox
	chat      func(key string) (target string, found bool)
}

// atOnce is how many files of one platform may be on their way into memory at once: one that hangs delays no other.
const atOnce = 4

// New returns the media of a gateway. It does no I/O.
func New(o Options) *Media { return &Media{o: o, rooms: map[string]*semaphore.Weighted{}} }

// room bounds the files of a platform that are in memory.
func (m *Media) room(platform string) *semaphore.Weighted {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rooms[platform] == nil {
		m.rooms[platform] = semaphore.NewWeighted(atOnce)
	}
	return m.rooms[platform]
}

// Open gives the media the way to the chats. chat is the address of a session's chat; it must not wait. It is called once,
// before any message.
func (m *Media) Open(p Platforms, o Outbox, chat func(key string) (target string, found bool)) {
	m.platforms, m.outbox, m.chat = p, o, chat
}

// mebi is a MiB in bytes.
const mebi = 1 << 20

const (
	// maxFiles is how many files of one message are taken.
	maxFiles = 10
	// maxFile is the largest file that is taken or sent, and maxAll bounds those of one message together, in bytes.
	maxFile = 20 * mebi
	maxAll  = 50 * mebi
	// maxPicture is the largest picture that a model is shown: endpoints take 5 MB in base64. maxShown bounds those of one
	// message together.
	maxPicture = 3_700_000
	maxShown   = 12 * mebi
	// maxText is the longest text that is put into the message, and maxTexts bounds those of one message together.
	maxText  = 16 << 10
	maxTexts = 48 << 10
	// maxWait bounds the time for the files of one message.
	maxWait = 5 * time.Minute
)
