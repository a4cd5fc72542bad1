;;; emacs_client.el --- Conversations of acp.el with an agent  -*- lexical-binding: t; -*-
;; emacs -Q --batch -L ACP-EL -l emacs_client.el CWD COMMAND [ARGS…]; what happened goes to stdout as JSON.
;; One session: PROMPT (from the environment) with everything allowed, then a command that is cancelled, then the list.
;; The file NOTE of CWD is open in a buffer, with an unsaved change.

;;; Code:

(require 'acp)
(require 'seq)

(defvar cwd (file-name-as-directory (pop command-line-args-left)))
(defvar command (pop command-line-args-left))
(defvar arguments command-line-args-left)
(setq command-line-args-left nil)

(defvar updates nil "What the agent sent in session/update, newest first.")
(defvar permissions nil "What it asked, newest first.")
(defvar calls nil "The methods that it called, newest first.")
(defvar complaints nil "What it wrote to stderr: acp.el shows that to the user as an error.")
(defvar cancel-when-running nil "The session to cancel as soon as a tool of it runs.")

(defvar note (find-file-noselect (expand-file-name "README.md" cwd)))
(with-current-buffer note
  (setq buffer-file-coding-system 'utf-8-unix)
  (goto-char (point-max))
  (insert "Not saved yet.\n"))

(defvar client (acp-make-client :command command :command-params arguments :context-buffer (current-buffer)))

(defun answer (response)
  (acp-send-response :client client :response response))

(defun allow (id params)
  (let-alist params
    (let ((option (seq-find (lambda (option) (equal (alist-get 'kind option) "allow_once")) .options)))
      (push (list (cons 'title .toolCall.title) (cons 'kinds (vconcat (mapcar (lambda (o) (alist-get 'kind o)) .options))))
            permissions)
      (answer (acp-make-session-request-permission-response
               :request-id id :option-id (alist-get 'optionId option))))))

(defun text-of (path)
  "What Emacs has of PATH: its buffer, saved or not, or else the file."
  (let ((buffer (find-buffer-visiting path)))
    (if buffer
        (with-current-buffer buffer (buffer-substring-no-properties (point-min) (point-max)))
      (with-temp-buffer (insert-file-contents path) (buffer-string)))))

(defun read-for (id params)
  (let-alist params
    (answer
     (if (file-exists-p .path)
         (acp-make-fs-read-text-file-response :request-id id :content (text-of .path))
       (acp-make-fs-read-text-file-response
        :request-id id :error (acp-make-error :code -32002 :message "There is no such file"))))))

(defun write-for (id params)
  (let-alist params
    (with-temp-file .path (insert .content))
    (answer (acp-make-fs-write-text-file-response :request-id id))))

(defun called (request)
  (let-alist request
    (push .method calls)
    (pcase .method
      ("session/request_permission" (allow .id .params))
      ("fs/read_text_file" (read-for .id .params))
      ("fs/write_text_file" (write-for .id .params)))))

(defun told (notification)
  (let-alist notification
    (push .params.update updates)
    (when (and cancel-when-running (equal .params.update.status "in_progress"))
      (let ((session cancel-when-running))
        (setq cancel-when-running nil)
        (acp-send-notification :client client
                               :notification (acp-make-session-cancel-notification :session-id session))))))

(acp-subscribe-to-notifications :client client :on-notification #'told)
(acp-subscribe-to-requests :client client :on-request #'called)
(acp-subscribe-to-errors :client client :on-error (lambda (err) (push (alist-get 'message err) complaints)))

(defun ask (request)
  (acp-send-request :client client :request request :sync t))

(defun prompt (session text)
  (ask (acp-make-session-prompt-request
        :session-id session :prompt (list (list '(type . "text") (cons 'text text))))))

(let* ((initialized (ask (acp-make-initialize-request
                          :protocol-version 1
                          :client-info '((name . "emacs") (version . "1"))
                          :read-text-file-capability t :write-text-file-capability t)))
       (session (alist-get 'sessionId (ask (acp-make-session-new-request :cwd cwd))))
       (first (prompt session (getenv "PROMPT")))
       (shown (reverse updates))
       (second (progn (setq cancel-when-running session) (prompt session "run sleep 30")))
       (listed (ask (acp-make-session-list-request :cwd cwd))))
  (acp-shutdown :client client)
  (princ (json-serialize
          (list (cons 'initialize initialized)
                (cons 'first first)
                (cons 'second second)
                (cons 'listed listed)
                (cons 'updates (vconcat shown))
                (cons 'permissions (vconcat (reverse permissions)))
                (cons 'calls (vconcat (reverse calls)))
                (cons 'complaints (vconcat (reverse complaints))))
          :null-object nil :false-object :false)))

;;; emacs_client.el ends here
