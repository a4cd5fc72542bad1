(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(type_alias_statement left: (type (identifier) @name)) @type
(module (expression_statement (assignment left: (identifier) @name) @value))

; references

(call function: (identifier) @reference)
(attribute attribute: (identifier) @member)
(type (identifier) @reference)
(decorator (identifier) @reference)
(class_definition superclasses: (argument_list (identifier) @reference))
(import_from_statement name: (dotted_name (identifier) @reference))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @reference)))
