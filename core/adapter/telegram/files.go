package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the pictures that Telegram takes as photos
	_ "image/png"
	"net/url"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// The limits of Telegram for files (https://core.telegram.org/bots/api#sending-files): bytes of a photo and of another file, UTF-16
// units of the text next to one, and the sides of a photo in pixels, of which one is at most maxRatio times the other.
const (
	maxPhoto    = 10 << 20
	maxDocument = 50 << 20
	maxCaption  = 1024
	maxSides    = 10000
	maxRatio    = 20
)

// Fetch implements adapter.Fetcher. ref is a file_id, which does not change. Telegram itself hands out at most 20 MB.
func (c *conn) Fetch(ctx context.Context, ref string, most int64) (content []byte, err error) {
	err = c.While(ctx, func(ctx context.Context) error {
		content, err = c.api.fetch(ctx, ref, most)
		return err
	})
	return content, err
}

func (a *api) fetch(ctx context.Context, ref string, most int64) ([]byte, error) {
	var file struct {
		Size int64  `json:"file_size"`
		Path string `json:"file_path"`
	}
	if err := a.write(ctx, "getFile", url.Values{"file_id": {ref}}, &file); err != nil {
		return nil, err
	}
	switch {
	case file.Size > most:
		return nil, bot.TooLarge(most)
	case file.Path == "":
		return nil, &adapter.RefusedError{Why: "Telegram does not hand the file out"}
	case strings.HasPrefix(file.Path, "/"):
		return nil, &adapter.RefusedError{Why: "the Bot API server has the file on its own disk (its option --local)"}
	}
	address := a.files + "/" + (&url.URL{Path: file.Path}).EscapedPath()
	return bot.Download(ctx, a.http, address, most, func(err error) error { return a.failed("download a file", err) })
}

// SendFile implements adapter.FileSender. A picture that Telegram takes as one is shown in the chat, at the quality that Telegram
// gives it; any other file arrives unchanged.
func (c *conn) SendFile(ctx context.Context, target string, f adapter.OutgoingFile) (sent adapter.Sent, err error) {
	switch n := length(f.Caption); {
	case len(f.Content) > maxDocument:
		return sent, &adapter.RefusedError{Why: fmt.Sprintf("the file has %d bytes, and Telegram takes %d", len(f.Content), maxDocument)}
	case len(f.Content) == 0:
		return sent, &adapter.RefusedError{Why: "the file is empty, which Telegram does not take"}
	case n > maxCaption:
		return sent, &adapter.RefusedError{Why: fmt.Sprintf("the text next to the file has %d characters, and Telegram takes %d", n, maxCaption)}
	}
	_, answers, err := parseTarget(target)
	if err != nil {
		return sent, &adapter.RefusedError{Why: err.Error()}
	}
	var id int64
	err = c.call(ctx, target, func(ctx context.Context, to address) error {
		leave, err := c.chats.Enter(ctx, to, adapter.Outgoing{})
		if err != nil {
			return err
		}
		defer leave()
		id, err = c.api.sendFile(ctx, to, answers, f)
		return err
	})
	if err == nil {
		sent.IDs = []string{strconv.FormatInt(id, 10)}
	}
	return sent, err
}

func (a *api) sendFile(ctx context.Context, to address, answers int64, f adapter.OutgoingFile) (id int64, err error) {
	var result struct {
		ID int64 `json:"message_id"`
	}
	params := to.params()
	answering(params, answers)
	if strings.TrimSpace(f.Caption) != "" {
		params.Set("caption", strings.ToValidUTF8(f.Caption, "\uFFFD"))
	}
	if isPhoto(f.Content) {
		err := a.upload(ctx, "sendPhoto", params, "photo", f, &result)
		if refused, is := errors.AsType[*adapter.RefusedError](err); !is || !aboutPicture(refused.Why) {
			return result.ID, err
		}
	}
	err = a.upload(ctx, "sendDocument", params, "document", f, &result)
	return result.ID, err
}

// isPhoto reports whether Telegram should take the content as a photo.
func isPhoto(content []byte) bool {
	if len(content) > maxPhoto {
		return false
	}
	p, _, err := image.DecodeConfig(bytes.NewReader(content))
	return err == nil && p.Width+p.Height <= maxSides && p.Width <= maxRatio*p.Height && p.Height <= maxRatio*p.Width
}

// aboutPicture reports whether Telegram's words for a refusal are about the picture: "PHOTO_INVALID_DIMENSIONS",
// "IMAGE_PROCESS_FAILED", "PHOTO_SAVE_FILE_INVALID".
func aboutPicture(why string) bool {
	return strings.Contains(why, "PHOTO_") || strings.Contains(why, "IMAGE_")
}
