package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// Message is a message with files, at the begin of its turn.
type Message struct {
	// Session is the key of its session, Text what it says, and Files are its files as adapter.EncodeFiles made them.
	Session, Text, Files string
	// Sees means that the model of the turn can see pictures.
	Sees bool
	// Progress is called with what is being done.
	Progress func(doing string)
}

// Taken is what a turn gets of a message with files.
type Taken struct {
	// Text is the message as the model reads it, with a line for each file, and what the files say.
	Text string
	// Images are the pictures for the model.
	Images []model.Image
	// Refused are the files that were not taken, each with the reason, for the user.
	Refused []string
}

// Take fetches the files of a message. It returns within maxWait, and soon after the end of ctx; what was not fetched then is
// said in the text.
func (m *Media) Take(ctx context.Context, in Message) Taken {
	t := &taking{m: m, in: in, left: maxAll, shown: maxShown, texts: maxTexts}
	files, err := adapter.DecodeFiles(in.Files)
	if err != nil {
		m.o.Log.Error("files of a message lost", "session", in.Session, "error", err.Error())
		t.refuse("the files of this message", "what is known of them cannot be read")
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for i, f := range files {
		if i == maxFiles {
			t.refuse(fmt.Sprintf("%d more files of this message", len(files)-i), fmt.Sprintf("at most %d are", maxFiles))
			break
		}
		t.take(ctx, f)
	}
	parts := append([]string{strings.TrimSpace(in.Text)}, t.lines...)
	return Taken{Text: strings.TrimSpace(strings.Join(parts, "\n\n")), Images: t.images, Refused: t.refused}
}

// taking is the work on the files of one message.
type taking struct {
	m  *Media
	in Message
	// left, shown and texts are how many bytes may still be fetched, shown to the model, and put into the text.
	left, shown, texts int
	lines              []string
	images             []model.Image
	refused            []string
	// leave makes room for the next file.
	leave func()
}

func (t *taking) say(format string, args ...any) {
	t.lines = append(t.lines, "["+fmt.Sprintf(format, args...)+"]")
}

// refuse says that something was not taken, to the model and to the user.
func (t *taking) refuse(what, why string) {
	t.say("%s: not taken, because %s", what, why)
	t.refused = append(t.refused, what+": "+why)
}

func (t *taking) take(ctx context.Context, f adapter.File) {
	what := "File " + shownName(f.Name, "without a name")
	most := min(maxFile, t.left)
	if most == 0 || f.Size > int64(most) {
		t.refuse(what, tooLarge(most))
		return
	}
	t.in.Progress("fetching a " + noun(f))
	platform := session.Platform(t.in.Session)
	room := t.m.room(platform)
	if err := room.Acquire(ctx, 1); err != nil {
		t.failed(ctx, what, err)
		return
	}
	t.leave = sync.OnceFunc(func() { room.Release(1) })
	defer t.leave()
	content, err := t.m.fetch(ctx, platform, f.Ref, most)
	switch {
	case err != nil:
		t.failed(ctx, what, err)
		return
	case len(content) > most: // Platforms keep their promise; this is for those that do not.
		t.refuse(what, tooLarge(most))
		return
	case len(content) == 0:
		t.refuse(what, "it is empty")
		return
	}
	t.left -= len(content)
	k, mediaType := kindOf(f, content)
	what = fmt.Sprintf("%s (%s, %s bytes)", shownName(f.Name, "without a name"), mediaType, humanize.Comma(int64(len(content))))
	switch k {
	case picture:
		t.picture(f, what, mediaType, content)
	case text:
		t.text(f, what, mediaType, content)
	case speech:
		t.speech(ctx, f, what, mediaType, content)
	default:
		t.say("File %s, %s", what, t.saved(f, k, mediaType, content))
	}
}

func tooLarge(most int) string {
	if most < maxFile {
		return fmt.Sprintf("the files of one message may have %s together", humanize.IBytes(maxAll))
	}
	return fmt.Sprintf("it is larger than %s", humanize.IBytes(maxFile))
}

// failed says why a file was not fetched. What ended the turn ends no file alone, and its user knows of it.
func (t *taking) failed(ctx context.Context, what string, err error) {
	refused, is := errors.AsType[*adapter.RefusedError](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		t.say("%s: not fetched, because the turn was interrupted", what)
	case is:
		t.refuse(what, term.Clean(refused.Why, 200))
	case errors.Is(err, adapter.ErrUnable):
		t.refuse(what, "this platform hands over no files")
	case errors.Is(err, context.DeadlineExceeded):
		t.refuse(what, "the platform did not hand it over in time")
	default:
		t.refuse(what, "it could not be fetched: "+term.Clean(term.Redact(err.Error()), 200))
	}
	t.m.o.Log.Warn("file of a message not fetched", "session", t.in.Session, "error", term.Clean(err.Error(), 300))
}

// saved saves a file, and says where.
func (t *taking) saved(f adapter.File, k kind, mediaType string, content []byte) string {
	at, err := t.m.save(t.in.Session, fileName(f.Name, fallbackName(k, mediaType)), content)
	if err == nil {
		return "saved as " + at + " in your work folder"
	}
	t.m.o.Log.Warn("file of a message not saved", "session", t.in.Session, "error", term.Clean(err.Error(), 300))
	why := "could not be saved: " + term.Clean(cause(err).Error(), 200)
	t.refused = append(t.refused, shownName(f.Name, "a file without a name")+" "+why)
	return why
}

// cause is what went wrong with a file, without its path.
func cause(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err
	}
	return err
}

func (t *taking) picture(f adapter.File, what, mediaType string, content []byte) {
	saved := t.saved(f, picture, mediaType, content)
	switch {
	case !t.in.Sees:
		t.say("Picture %s, %s. You cannot see it: the model of this conversation has no vision", what, saved)
	case len(content) > min(maxPicture, t.shown):
		t.say("Picture %s, %s. It is too large to be shown to you", what, saved)
	default:
		t.shown -= len(content)
		t.images = append(t.images, shownAs(mediaType, content))
		t.say("Picture %s, %s. You see it with this message, and not later", what, saved)
	}
}

func (t *taking) text(f adapter.File, what, mediaType string, content []byte) {
	if len(content) > min(maxText, t.texts) {
		t.say("File %s, %s", what, t.saved(f, text, mediaType, content))
		return
	}
	t.texts -= len(content)
	body := strings.TrimRight(string(content), "\n")
	fence := "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	t.say("File %s, its text", what)
	t.lines[len(t.lines)-1] += "\n" + fence + "\n" + body + "\n" + fence
}

func (t *taking) speech(ctx context.Context, f adapter.File, what, mediaType string, content []byte) {
	noun := "Sound"
	if f.Spoken {
		noun = "Voice message"
	}
	if t.m.o.Transcriber == nil {
		t.say("%s %s, %s. You cannot hear it: no transcription is configured", noun, what, t.saved(f, speech, mediaType, content))
		return
	}
	t.leave() // an endpoint that hangs delays no other message
	t.in.Progress("transcribing a voice message")
	name := fileName(f.Name, fallbackName(speech, mediaType))
	said, err := t.m.o.Transcriber.Transcribe(ctx, name, content)
	switch {
	case err != nil:
		t.m.o.Log.Warn("voice message not transcribed", "session", t.in.Session, "error", term.Clean(err.Error(), 300))
		t.say("%s %s, %s. You cannot hear it: it could not be transcribed", noun, what, t.saved(f, speech, mediaType, content))
		if ctx.Err() == nil {
			t.refused = append(t.refused, "the "+strings.ToLower(noun)+": it could not be transcribed")
		}
	case f.Spoken:
		t.say("Voice message, as it was transcribed")
		t.lines[len(t.lines)-1] += "\n" + said
	default:
		t.say("Sound %s, %s. What is said in it, as it was transcribed", what, t.saved(f, speech, mediaType, content))
		t.lines[len(t.lines)-1] += "\n" + said
	}
}

// The waits between the attempts to fetch a file, which double.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 10 * time.Second
	// maxFetch bounds the time for one file, and maxTries the attempts that failed in a way that is not known to pass.
	maxFetch = 2 * time.Minute
	maxTries = 4
)

// fetch fetches one file. After a restart the turn may begin before its platform is connected: that is waited for.
func (m *Media) fetch(ctx context.Context, platform, ref string, most int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxFetch)
	defer cancel()
	wait := firstRetry
	for tries := 1; ; {
		content, err := m.platforms.Fetch(ctx, platform, ref, int64(most))
		if err == nil || final(err) || ctx.Err() != nil {
			return content, err
		}
		limit, limited := errors.AsType[*adapter.RateLimitError](err)
		_, unsent := errors.AsType[*adapter.UnsentError](err)
		switch {
		case limited:
			wait = max(wait, limit.RetryAfter)
		case !unsent && !errors.Is(err, adapter.ErrNotConnected):
			if tries++; tries > maxTries {
				return nil, err
			}
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
		wait = min(2*wait, lastRetry)
	}
}

// final reports whether no later attempt to fetch a file can succeed.
func final(err error) bool {
	_, refused := errors.AsType[*adapter.RefusedError](err)
	for _, never := range []error{adapter.ErrUnknown, adapter.ErrUnable, adapter.ErrStopped} {
		refused = refused || errors.Is(err, never)
	}
	return refused
}
