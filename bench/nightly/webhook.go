package nightly

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"rollcall/results/track"
)

// WebhookVariable is the environment variable with the address that verdicts are posted to. Such addresses are secrets,
// so that no message contains any part of one.
const WebhookVariable = "ROLLCALL_WEBHOOK"

// webhookTimeout is how long a post may take in all.
const webhookTimeout = 10 * time.Second

// CheckWebhook reports an impossible address, before a night is measured. The empty address stands for no post. The
// error does not wrap that of url.Parse, which contains the address.
func CheckWebhook(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("track: $%s: not an http or https address, want one or nothing", WebhookVariable)
	}
	return nil
}

// PostVerdict posts a verdict as JSON. Its errors do not wrap those of net/http, which contain the address.
func PostVerdict(ctx context.Context, address string, v track.Verdict) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("track: webhook: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("track: webhook: the address is not valid")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "rollcall")
	// A redirect is not followed: it counts as a status other than 2xx.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("track: webhook: no answer in %v", webhookTimeout)
	case errors.Is(err, context.Canceled):
		return errors.New("track: webhook: interrupted")
	default:
		return errors.New("track: webhook: cannot be reached")
	}
	defer response.Body.Close()                                      // read only
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // the answer itself does not matter
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("track: webhook: status %d, want 2xx", response.StatusCode)
	}
	return nil
}
