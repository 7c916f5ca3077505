package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
)

// TestMailsWhatIsPinned expects a mail to the coach for a fact about safety, none for another one, and an error, after
// which Lambda tries again, where SES does not take the mail.
func TestMailsWhatIsPinned(t *testing.T) {
	var mails []string
	status := http.StatusOK
	ses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mails = append(mails, r.URL.Path+" "+string(body))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"MessageId":"1"}`)
	}))
	defer ses.Close()
	m := mailer{sesv2.New(sesv2.Options{
		Region: "us-east-1", BaseEndpoint: &ses.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: http.DefaultClient,
		Retryer: aws.NopRetryer{},
	}), "app@example.com", "coach@example.com"}
	handle := func(detail string) error {
		return m.handle(t.Context(), events.EventBridgeEvent{Detail: json.RawMessage(detail)})
	}
	if err := handle(`{"id":"e1","userId":"ann","memoryId":"memory_1","pinned":true}`); err != nil {
		t.Fatal(err)
	}
	if err := handle(`{"id":"e2","userId":"ann","memoryId":"memory_2"}`); err != nil {
		t.Fatal(err)
	}
	if len(mails) != 1 {
		t.Fatalf("%d mails: %q", len(mails), mails)
	}
	for _, want := range []string{"/v2/email/outbound-emails", "coach@example.com", "app@example.com", "memory_1", "e1"} {
		if !strings.Contains(mails[0], want) {
			t.Errorf("no %q in the mail %s", want, mails[0])
		}
	}
	status = http.StatusInternalServerError
	if err := handle(`{"id":"e3","userId":"ann","memoryId":"memory_3","pinned":true}`); err == nil {
		t.Error("a mail that is not sent is no error")
	}
}
