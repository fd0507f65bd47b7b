// Package signature signs and checks HTTP requests between programs that share a secret: the webhooks that come in, and the
// hooks that go out.
//
// What it promises: a request is accepted only if its sender knew the secret and, where the scheme signs a time, only within
// Window of that time. Secrets are compared in constant time. The name that Check returns comes from what is signed alone, so
// that a repeated request has the name of the first one, even if its other headers were changed on the way.
package signature

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scheme is how a request is signed.
type Scheme string

// The schemes, each with where it is documented.
const (
	// Gateway signs the time and the body: see Sign.
	Gateway Scheme = "gateway"
	// GitHub signs the body (https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries).
	GitHub Scheme = "github"
	// Slack signs the time and the body (https://docs.slack.dev/authentication/verifying-requests-from-slack).
	Slack Scheme = "slack"
	// Standard signs an id, the time and the body (https://www.standardwebhooks.com).
	Standard Scheme = "standard"
	// Twilio signs the address and the form, or the address with a sum of the body (https://www.twilio.com/docs/usage/security).
	Twilio Scheme = "twilio"
)

// Window is how far the time in a request may be from the time of this machine.
const Window = 5 * time.Minute

// The headers of the scheme Gateway. The signature is "v1=" and 64 hexadecimal digits; the time is in seconds since 1970.
const (
	TimeHeader      = "X-Gateway-Timestamp"
	SignatureHeader = "X-Gateway-Signature"
)

// Why Check refuses a request.
var (
	ErrUnsigned = errors.New("the request has no signature of this scheme")
	ErrTime     = errors.New("the time of the request is not within 5 minutes of the time here")
	ErrWrong    = errors.New("the signature does not fit the secret and what was sent")
)

// Request is what of a request can be signed.
type Request struct {
	// Address is the URL as the sender has it, with its query. Only Twilio signs it.
	Address string
	Header  http.Header
	Body    []byte
}

// checks has the function that checks a request of each scheme at now. It returns what the signature covers of a message and
// stays the same when the sender repeats it.
var checks = map[Scheme]func(secret string, r Request, now time.Time) (signed string, err error){
	Gateway: checkGateway, GitHub: checkGitHub, Slack: checkSlack, Standard: checkStandard, Twilio: checkTwilio,
}

// Schemes are all schemes, sorted.
func Schemes() (all []string) {
	for s := range checks {
		all = append(all, string(s))
	}
	slices.Sort(all)
	return all
}

// Check reports whether r was signed with the secret, and returns a name of its message: 64 hexadecimal digits. The error is
// ErrUnsigned, ErrTime or ErrWrong. An empty secret fits nothing.
func Check(s Scheme, secret string, r Request, now time.Time) (name string, err error) {
	check, known := checks[s]
	if !known || secret == "" {
		return "", ErrWrong
	}
	signed, err := check(secret, r, now)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(signed))
	return hex.EncodeToString(sum[:]), nil
}

// Sign sets the headers of the scheme Gateway: the time, and the HMAC-SHA256 of "TIME.BODY" with the secret.
func Sign(h http.Header, secret string, body []byte, now time.Time) {
	at := strconv.FormatInt(now.Unix(), 10)
	h.Set(TimeHeader, at)
	h.Set(SignatureHeader, "v1="+hex.EncodeToString(mac(sha256.New, secret, at, ".", string(body))))
}

func mac(sum func() hash.Hash, secret string, parts ...string) []byte {
	m := hmac.New(sum, []byte(secret))
	for _, part := range parts {
		_, _ = m.Write([]byte(part)) // a hash takes everything
	}
	return m.Sum(nil)
}

// isHex reports whether text is sum as hexadecimal digits, after prefix.
func isHex(text, prefix string, sum []byte) bool {
	digits, has := strings.CutPrefix(text, prefix)
	given, err := hex.DecodeString(digits)
	return has && err == nil && hmac.Equal(given, sum)
}

// recent reports whether a time in seconds since 1970 is within Window of now.
func recent(seconds string, now time.Time) error {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return ErrTime
	}
	if far := now.Sub(time.Unix(at, 0)); far > Window || far < -Window {
		return ErrTime
	}
	return nil
}

func checkGateway(secret string, r Request, now time.Time) (string, error) {
	given, at := r.Header.Get(SignatureHeader), r.Header.Get(TimeHeader)
	if given == "" || at == "" {
		return "", ErrUnsigned
	}
	if err := recent(at, now); err != nil {
		return "", err
	}
	if !isHex(given, "v1=", mac(sha256.New, secret, at, ".", string(r.Body))) {
		return "", ErrWrong
	}
	return at + "." + string(r.Body), nil
}

// checkGitHub does not use X-GitHub-Delivery for the name: it is not signed, and a copied request could have another one.
func checkGitHub(secret string, r Request, _ time.Time) (string, error) {
	given := r.Header.Get("X-Hub-Signature-256")
	if given == "" {
		return "", ErrUnsigned
	}
	if !isHex(given, "sha256=", mac(sha256.New, secret, string(r.Body))) {
		return "", ErrWrong
	}
	return string(r.Body), nil
}

// checkSlack names a message by its body, which has the id of the event: a repeated delivery has another time.
func checkSlack(secret string, r Request, now time.Time) (string, error) {
	given, at := r.Header.Get("X-Slack-Signature"), r.Header.Get("X-Slack-Request-Timestamp")
	if given == "" || at == "" {
		return "", ErrUnsigned
	}
	if err := recent(at, now); err != nil {
		return "", err
	}
	if !isHex(given, "v0=", mac(sha256.New, secret, "v0:", at, ":", string(r.Body))) {
		return "", ErrWrong
	}
	return string(r.Body), nil
}

// checkStandard names a message by its id, which is signed. The headers of Svix, where the scheme comes from, are older. A repeated delivery has another time. While a secret is replaced,
// the header has a signature for each of both.
func checkStandard(secret string, r Request, now time.Time) (string, error) {
	of := func(name string) string { return cmp.Or(r.Header.Get("Webhook-"+name), r.Header.Get("Svix-"+name)) }
	id, at, given := of("Id"), of("Timestamp"), of("Signature")
	if id == "" || at == "" || given == "" {
		return "", ErrUnsigned
	}
	if err := recent(at, now); err != nil {
		return "", err
	}
	if encoded, has := strings.CutPrefix(secret, "whsec_"); has {
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) == 0 {
			return "", ErrWrong
		}
		secret = string(key)
	}
	want := []byte(base64.StdEncoding.EncodeToString(mac(sha256.New, secret, id, ".", at, ".", string(r.Body))))
	for one := range strings.FieldsSeq(given) {
		if sum, is := strings.CutPrefix(one, "v1,"); is && hmac.Equal([]byte(sum), want) {
			return id, nil
		}
	}
	return "", ErrWrong
}

// checkTwilio checks the address with the fields of a form in the order of their names, or with the sum of another body that
// the address has in bodySHA256. Twilio signs no time: a message is known by what it says, with its MessageSid.
func checkTwilio(secret string, r Request, _ time.Time) (string, error) {
	given := r.Header.Get("X-Twilio-Signature")
	if given == "" {
		return "", ErrUnsigned
	}
	address, err := url.Parse(r.Address)
	if err != nil {
		return "", ErrWrong
	}
	signed := r.Address
	if sum := address.Query().Get("bodySHA256"); sum != "" {
		if of := sha256.Sum256(r.Body); !isHex(sum, "", of[:]) {
			return "", ErrWrong
		}
	} else {
		form, err := url.ParseQuery(string(r.Body))
		if err != nil {
			return "", ErrWrong
		}
		signed += fields(form)
	}
	want := base64.StdEncoding.EncodeToString(mac(sha1.New, secret, signed))
	if !hmac.Equal([]byte(given), []byte(want)) {
		return "", ErrWrong
	}
	return signed, nil
}

// fields are the names and values of a form, in the order of the names; several values of one name are sorted, each once.
func fields(form url.Values) string {
	var names []string
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		values := slices.Clone(form[name])
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			b.WriteString(name + value)
		}
	}
	return b.String()
}
