(function_definition name: (word) @name) @function

; references

(command_name (word) @reference)
