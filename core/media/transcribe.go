package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gatewaytui/core/term"
)

const (
	// maxTranscribing bounds one transcription.
	maxTranscribing = 2 * time.Minute
	// maxSaid is the longest transcript, and maxAnswer the longest answer of an endpoint, in bytes.
	maxSaid   = 64 << 10
	maxAnswer = mebi
)

// Transcription is an endpoint of OpenAI's audio transcriptions.
type Transcription struct {
	at, model, key string
	http           *http.Client
}

// NewTranscription returns the transcription of the endpoint at base, which ends before /audio/transcriptions. key is sent as a
// bearer token; empty: none is sent. It does no I/O.
func NewTranscription(base, model, key string) (*Transcription, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("transcription.base_url must be http(s)://host[:port]/path, without credentials and without a query")
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true // voice messages are rare, and nothing has to be closed at the end
	return &Transcription{at: strings.TrimRight(u.String(), "/") + "/audio/transcriptions", model: model, key: key, http: &http.Client{
		Transport: t,
		// The target would get what was said, and on the same host the key (HF10).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Transcribe returns what is said in a file. The name tells the endpoint its format. It returns within two minutes.
func (t *Transcription) Transcribe(ctx context.Context, name string, speech []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTranscribing)
	defer cancel()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	err := errors.Join(form.WriteField("model", t.model), form.WriteField("response_format", "json"))
	if part, perr := form.CreateFormFile("file", name); perr == nil {
		_, perr = part.Write(speech)
		err = errors.Join(err, perr)
	} else {
		err = errors.Join(err, perr)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.at, &b)
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Accept", "application/json")
	if t.key != "" {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("transcribe: the endpoint of [transcription] answered %s: %s", resp.Status, term.Clean(term.Redact(strings.ReplaceAll(string(body), t.secret(), term.Mask)), 200))
	}
	var answer struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Text == nil {
		return "", errors.New("transcribe: the endpoint of [transcription] gave no transcript; check transcription.base_url")
	}
	said := strings.TrimSpace(strings.ToValidUTF8(*answer.Text, "\uFFFD"))
	if said == "" {
		return "(nothing was said)", nil
	}
	return cut(said, maxSaid), nil
}

// secret is the key; without one, a text that no answer has.
func (t *Transcription) secret() string {
	if t.key == "" {
		return "\x00"
	}
	return t.key
}
