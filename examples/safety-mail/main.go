// Command safety-mail is a Lambda function that mails the coach when a fact comes up that concerns a user's safety,
// such as an allergy or an injury. A rule of the event bus invokes it (template.yaml).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// fact is what the events memory.added and memory.changed say of a memory.
type fact struct {
	ID       string `json:"id"`
	UserID   string `json:"userId"`
	MemoryID string `json:"memoryId"`
	Pinned   bool   `json:"pinned"`
}

// mailer mails from an address that SES has verified to the coach's.
type mailer struct {
	client   *sesv2.Client
	from, to string
}

// handle sends a mail for a fact that every prompt has. The mail does not say what the fact is: the coach reads that in
// the app. An event may come twice, and so may the mail; both end in the same number.
func (m mailer) handle(ctx context.Context, e events.EventBridgeEvent) error {
	var f fact
	if err := json.Unmarshal(e.Detail, &f); err != nil {
		return fmt.Errorf("read event %s: %w", e.ID, err)
	}
	if !f.Pinned {
		return nil
	}
	text := func(s string) *types.Content { return &types.Content{Data: &s} }
	_, err := m.client.SendEmail(ctx, &sesv2.SendEmailInput{
		FromEmailAddress: &m.from, Destination: &types.Destination{ToAddresses: []string{m.to}},
		Content: &types.EmailContent{Simple: &types.Message{
			Subject: text("Something about the safety of " + f.UserID),
			Body: &types.Body{Text: text(fmt.Sprintf(
				"%s has said something that concerns their safety. Please read it in the app: memory %s.\n\n%s\n",
				f.UserID, f.MemoryID, f.ID))},
		}},
	})
	if err != nil {
		return fmt.Errorf("mail of event %s: %w", f.ID, err)
	}
	return nil
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m := mailer{sesv2.NewFromConfig(cfg), os.Getenv("MAIL_FROM"), os.Getenv("MAIL_TO")}
	lambda.Start(m.handle)
}
